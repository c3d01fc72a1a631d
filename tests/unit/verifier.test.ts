import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { blockRoot, genesisRoot, proofHash } from "#lib/contracts/proof-hash.ts";
import { type ProofReceipt, proofReceipt } from "#lib/contracts/receipt-shape.ts";
import { checkFiles } from "#lib/verifier/check-files.ts";
import { createHash as createOwnHash } from "#lib/verifier/sha-256.ts";
import { renderVerifier } from "#scripts/render-verifier.ts";

// Guarantee: nobody trusts a page that is not what its source gives.
test("the served verifier is what the source gives", async () => {
  expect(readFileSync("public/verify.html", "utf8")).toBe(await renderVerifier());
});

test("the verifier's SHA-256 is SHA-256", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 300 }), (text) => {
      expect(createOwnHash("sha256").update(text).digest("hex")).toBe(createHash("sha256").update(text).digest("hex"));
      const hex = Buffer.from(text).toString("hex");
      expect(createOwnHash("sha256").update(hex, "hex").digest("hex")).toBe(createHash("sha256").update(hex, "hex").digest("hex"));
    }),
  );
});

/** A receipt in a block of its own after the given root. */
function receiptAfter(previousRoot: string, number: number, more: Partial<ProofReceipt> = {}): ProofReceipt {
  const fields = {
    proof_id: `proof-${number}`,
    site: "0123456789abcdef0123456789abcdef",
    contract: "sale",
    contract_version: "1",
    entity_id: "sale-1",
    from: null,
    to: "CONFIRMED",
    actor_kind: "user",
    actor_id: null,
    facts: '{"amount":425000}',
    request_hash: null,
    occurred_at: "2026-11-17T10:00:00Z",
    ...more,
  } as Parameters<typeof proofHash>[0]; // the site's brand is given by the shape below
  const hash = proofHash(fields);
  const block = {
    number,
    previous_root: previousRoot,
    root: blockRoot(previousRoot, [hash]),
    sealed_at: "2026-11-17T10:01:00Z",
    hashes: [hash],
  };
  return proofReceipt.parse({ ...fields, hash, block });
}

const check = (...receipts: ProofReceipt[]) =>
  checkFiles(receipts.map((receipt, index) => ({ name: `${index}.json`, text: JSON.stringify(receipt) }))).map(
    ({ file, holds, message }) => `${file} ${holds} ${message}`,
  );

// Guarantee: a receipt in anybody's hands says whether it, or the history around it, was changed.
test("a receipt holds; a changed field, place or block does not, and receipts that contradict each other are named", () => {
  const first = receiptAfter(genesisRoot, 1);
  const second = receiptAfter(first.block?.root ?? "", 2);
  expect(check(first, second)).toEqual(["0.json true receipt.holds", "1.json true receipt.holds"]);
  expect(check({ ...first, facts: '{"amount":425001}' })).toEqual(["0.json false receipt.fields"]);
  expect(check({ ...first, block: second.block })).toEqual(["0.json false receipt.place"]);
  expect(check({ ...first, block: first.block && { ...first.block, root: "f".repeat(64) } })).toEqual(["0.json false receipt.root"]);
  expect(check({ ...first, block: null })).toEqual(["0.json true receipt.unsealed"]);
  const rewritten = receiptAfter(genesisRoot, 1, { facts: "{}" });
  expect(check(first, rewritten)).toContain("0.json false chain.fork");
  expect(check(rewritten, second)).toContain("0.json false chain.torn");
});

test("a file of another kind is no proof", () => {
  expect(checkFiles([{ name: "x.json", text: '{"a":1}' }])).toMatchObject([{ holds: false, message: "unreadable" }]);
  expect(checkFiles([{ name: "x.csv", text: "a,b\n1,2\n" }])).toMatchObject([{ holds: false, message: "unreadable" }]);
});
