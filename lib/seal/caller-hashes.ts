import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import type { SiteId } from "#lib/site.ts";
import { type CallerHash, callerHashes, callerRing } from "#lib/vault/caller-hash.ts";

/** What a report or a sale says about a person's number: as text, or already as SHA-256 of its E.164 form. */
interface Customer {
  phone?: unknown;
  hash?: unknown;
}

const isSha256 = (value: unknown): value is string => typeof value === "string" && /^[0-9a-fA-F]{64}$/.test(value);
const isNumber = (value: unknown): value is string => typeof value === "string" && value !== "";

/**
 * The stored form of each customer's number, under each key of the vault's ring; none where there is no number. SQL knows the site's country and
 * reads the numbers; the key is only here.
 */
export async function callersOf(siteId: SiteId, customers: Customer[]): Promise<CallerHash[][]> {
  const ring = callerRing();
  if (!ring) return customers.map(() => []);
  const phones = [...new Set(customers.flatMap(({ phone, hash }) => (!isSha256(hash) && isNumber(phone) ? [phone] : [])))];
  const answer = z.array(z.string().nullable()).nullable();
  const read = phones.length > 0 ? await callRpc("phone_hashes", { p_public_id: siteId, p_phones: phones }, answer) : [];
  return customers.map(({ phone, hash }) => {
    const sha256 = isSha256(hash) ? hash : isNumber(phone) ? read?.[phones.indexOf(phone)] : null;
    return sha256 ? callerHashes(sha256, ring) : [];
  });
}
