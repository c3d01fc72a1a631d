import { z } from "zod";
import { siteIdShape } from "#lib/site.ts";

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** A proof as its tenant gets and keeps it. `facts` is text, because the hash is over these bytes. */
export const proofReceipt = z.object({
  proof_id: z.string(),
  site: siteIdShape,
  contract: z.string(),
  contract_version: z.string(),
  entity_id: z.string(),
  from: z.string().nullable(),
  to: z.string(),
  actor_kind: z.enum(["user", "api_key", "system"]),
  actor_id: z.string().nullable(),
  facts: z.string(),
  request_hash: z.string().nullable(),
  occurred_at: z.string(),
  hash: sha256,
  /** Null until the sealer has run, about a minute. */
  block: z.object({ number: z.number(), root: sha256, previous_root: sha256, sealed_at: z.string(), hashes: z.array(sha256) }).nullable(),
});
export type ProofReceipt = z.output<typeof proofReceipt>;
