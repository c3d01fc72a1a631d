import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { callAsUser } from "#lib/db/session-client.ts";
import { claimedField } from "#lib/guards/claimed-site-id.ts";
import type { KeyOrMember } from "#lib/guards/key-or-member.ts";
import { type OnceAnswer, onceAnswer, type RequestIdentity } from "#lib/http/answer-once.ts";
import type { GuardContext } from "#lib/http/handler.ts";
import type { KeyScope } from "#lib/tenancy/site-roles.ts";
import { readProof } from "./proof-receipt.ts";
import { type ProofReceipt, proofReceipt } from "./receipt-shape.ts";

/** The wire names are the agreed ones. Strict: a misspelt expected_version would otherwise be ignored. */
export const transitionRequest = z
  .strictObject({
    idempotency_key: z.unknown().optional(), // requireIdentity says what is wrong with it
    contract: z.enum(["call", "sale", "conversion"]),
    id: z.uuid(),
    to: z.string().min(1).max(40),
    reason: z.string().trim().max(500).optional(),
    expected_version: z.int32().positive().optional(),
  })
  .refine(({ contract, expected_version }) => contract !== "conversion" || expected_version === undefined, {
    path: ["expected_version"],
    error: "A conversion has no version.",
  });

type Move = z.output<typeof transitionRequest>;

const ownScopes: Record<string, KeyScope> = { call: "calls", sale: "sales" };

/** The scopes a key needs for a move: that of what it moves, or `contracts`, which covers all. SQL checks again, because the body only claims what it moves. */
export function transitionScopes({ rawBody }: Pick<GuardContext, "rawBody">): KeyScope[] {
  const own = ownScopes[String(claimedField(rawBody, "contract"))];
  return own ? [own, "contracts"] : ["contracts"];
}

/** Whoever may make moves may read their receipts. */
export const proofScopes = (): KeyScope[] => ["calls", "sales", "contracts"];

/** One legal move of a call, a sale or a conversion. SQL finds the tenant: by the key, or by the entity and the person's role on its site. */
export function transitionContract(actor: KeyOrMember, move: Move, once: Required<RequestIdentity>): Promise<OnceAnswer> {
  const { contract, id, to, reason, expected_version } = move;
  const p_move = { contract, id, to, ...(reason && { reason }), ...(expected_version && { expectedVersion: expected_version }) };
  return actor.kind === "key"
    ? callRpc("transition_contract_for_key", { p_key_id: actor.keyId, p_move, ...once }, onceAnswer)
    : callAsUser(actor.db, "transition_contract", { p_move, ...once }, onceAnswer);
}

export function getProof(actor: KeyOrMember, proofId: string): Promise<ProofReceipt> {
  return actor.kind === "key"
    ? callRpc("get_proof_for_key", { p_key_id: actor.keyId, p_proof_id: proofId }, proofReceipt)
    : readProof(actor.db, proofId);
}
