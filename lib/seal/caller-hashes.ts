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

/** SHA-256 of each customer's number in E.164; null where there is none. SQL knows the site's country and reads the numbers. */
async function numberHashes(siteId: SiteId, customers: Customer[]): Promise<(string | null)[]> {
  const phones = [...new Set(customers.flatMap(({ phone, hash }) => (!isSha256(hash) && isNumber(phone) ? [phone] : [])))];
  const answer = z.array(z.string().nullable()).nullable();
  const read = phones.length > 0 ? await callRpc("phone_hashes", { p_public_id: siteId, p_phones: phones }, answer) : [];
  return customers.map(({ phone, hash }) =>
    isSha256(hash) ? hash.toLowerCase() : isNumber(phone) ? (read?.[phones.indexOf(phone)] ?? null) : null,
  );
}

/** The stored form of each customer's number, under each key of the vault's ring; none where there is no number. The key is only here. */
export async function callersOf(siteId: SiteId, customers: Customer[]): Promise<CallerHash[][]> {
  const ring = callerRing();
  if (!ring) return customers.map(() => []);
  return (await numberHashes(siteId, customers)).map((sha256) => (sha256 ? callerHashes(sha256, ring) : []));
}

interface VouchedHash extends CallerHash {
  voucher: string;
}

/** The same, for functions that a person calls: SQL takes a hash from a session only with its voucher. */
export async function vouchedCallersOf(siteId: SiteId, customers: Customer[]): Promise<VouchedHash[][]> {
  const ring = callerRing();
  if (!ring) return customers.map(() => []);
  const numbers = await numberHashes(siteId, customers);
  const hashed = numbers.flatMap((phoneHash, customer) =>
    phoneHash ? callerHashes(phoneHash, ring).map((caller) => ({ customer, phoneHash, ...caller })) : [],
  );
  if (hashed.length === 0) return customers.map(() => []);
  const asked = hashed.map(({ phoneHash, hash, keyId }) => ({ phoneHash, hash, keyId }));
  const vouchers = await callRpc("vouch_callers", { p_public_id: siteId, p_callers: asked }, z.array(z.string()).nullable());
  return customers.map((_customer, index) =>
    hashed.flatMap(({ customer, hash, keyId }, place) => (customer === index ? [{ hash, keyId, voucher: vouchers?.[place] ?? "" }] : [])),
  );
}
