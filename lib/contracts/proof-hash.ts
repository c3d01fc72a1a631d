import { createHash } from "node:crypto";
import type { ProofReceipt } from "./receipt-shape.ts";

/** Computes proofs and blocks again from what a receipt says, without any other code of this project. Postgres computes the same. */

type ProvenFields = Omit<ProofReceipt, "hash" | "block">;

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** A field with its length in bytes before it, so that no two lists of fields run together; null is not the empty text. */
const framed = (text: string | null) => (text === null ? "-" : `${new TextEncoder().encode(text).length}:${text}`);

export function proofHash(proof: ProvenFields): string {
  const fields = [
    proof.proof_id,
    proof.site,
    proof.contract,
    proof.contract_version,
    proof.entity_id,
    proof.from,
    proof.to,
    proof.actor_kind,
    proof.actor_id,
    proof.facts,
    proof.request_hash,
    proof.occurred_at,
  ];
  return sha256(fields.map(framed).join(""));
}

/** The previous_root of a site's first block. */
export const genesisRoot = "0".repeat(64);

export const blockRoot = (previousRoot: string, hashes: string[]) => sha256(previousRoot + hashes.join(""));

const faults = {
  fields: "its fields do not give its hash",
  place: "its hash is not among those of its block",
  root: "the hashes of its block do not give the block's root",
};

/** What is wrong with a receipt; null when it holds. A receipt without a block is not wrong: its proof is not sealed yet. */
export function findFault(receipt: ProofReceipt): keyof typeof faults | null {
  const { hash, block, ...fields } = receipt;
  if (proofHash(fields) !== hash) return "fields";
  if (!block) return null;
  if (!block.hashes.includes(hash)) return "place";
  return blockRoot(block.previous_root, block.hashes) === block.root ? null : "root";
}

/** The same in a sentence. */
export function receiptFault(receipt: ProofReceipt): string | null {
  const fault = findFault(receipt);
  return fault && faults[fault];
}
