import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { proofReceipt } from "./receipt-shape.ts";

export const readProof = (db: SessionClient, proofId: string) => callAsUser(db, "get_proof", { p_proof_id: proofId }, proofReceipt);
