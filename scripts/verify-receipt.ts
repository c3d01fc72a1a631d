/** `node scripts/verify-receipt.ts receipt.json`: hashes a receipt and its block again, offline. Exits 1 when it is not true. */
import { readFileSync } from "node:fs";
import { receiptFault } from "#lib/contracts/proof-hash.ts";
import { proofReceipt } from "#lib/contracts/receipt-shape.ts";

const [path] = process.argv.slice(2);
if (!path) {
  console.error("Usage: node scripts/verify-receipt.ts receipt.json");
  process.exit(2);
}

const receipt = proofReceipt.parse(JSON.parse(readFileSync(path, "utf8")));
const fault = receiptFault(receipt);
const sealed = receipt.block ? `sealed in block ${receipt.block.number} with the root ${receipt.block.root}` : "not sealed in a block yet";
console.log(fault ? `WRONG  ${fault}` : `ok     ${receipt.contract} ${receipt.entity_id}: ${receipt.from} -> ${receipt.to}, ${sealed}`);
process.exitCode = fault ? 1 : 0;
