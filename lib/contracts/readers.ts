import "server-only";
import { notFound } from "next/navigation";
import { readPage } from "#lib/auth/session.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { type ProofReceipt, proofReceipt } from "./proof-receipt.ts";

/** Unknown, not yours, and an address that somebody made up look the same on a page. */
function hideRefusal(error: unknown): never {
  if (error instanceof AppError && (error.code === "NOT_FOUND" || error.code === "VALIDATION_FAILED")) notFound();
  throw error;
}

export const readProof = (proofId: string): Promise<ProofReceipt> =>
  readPage("get_proof", { p_proof_id: proofId }, proofReceipt).catch(hideRefusal);
