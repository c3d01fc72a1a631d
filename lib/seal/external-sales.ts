import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { type SiteMachine, siteApiKey } from "#lib/guards/machine.ts";
import { onceAnswer, type RequestIdentity } from "#lib/http/answer-once.ts";
import { addressLimit, type RateLimit } from "#lib/http/rate-limit.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { boundedText } from "#lib/platform/bounded-text.ts";
import { hundredthsOf } from "#lib/valuation/currency-cents.ts";
import { callersOf } from "./caller-hashes.ts";

/** Sales that another system knows of. SQL matches, decides and answers once per key and once per reference. */

/** Systems send "" and null for what they do not know. */
const optional = <T>(schema: z.ZodType<T>) =>
  z.preprocess((value) => (value === "" || value === null ? undefined : value), schema.optional());
const clickId = optional(boundedText(512));
const sha256 = optional(z.string().regex(/^[0-9a-fA-F]{64}$/, "is not a SHA-256 in hex"));

export const externalSaleRequest = z
  .strictObject({
    site_id: optional(z.string()),
    external_ref: boundedText(120),
    occurred_at: z.iso.datetime({ offset: true, error: "REQUIRED" }),
    amount: optional(z.union([z.number(), z.string().regex(/^\d{1,12}(\.\d{1,6})?$/, "INVALID_AMOUNT")])),
    amount_cents: optional(z.int()),
    currency: optional(z.string()),
    customer_phone: optional(boundedText(40)),
    customer_hash: sha256,
    customer_email_hash: sha256,
    gclid: clickId,
    wbraid: clickId,
    gbraid: clickId,
    marketing_consent: optional(z.boolean()),
    notes: optional(boundedText(500)),
  })
  .refine(({ amount, amount_cents }) => (amount === undefined) !== (amount_cents === undefined), {
    path: ["amount"],
    error: "send either amount or amount_cents",
  });
export const confirmSaleRequest = z.strictObject({
  site_id: optional(z.string()),
  sale_id: z.uuid("REQUIRED"),
  separate_sale: optional(z.boolean()),
});

export const salesKey = siteApiKey(() => ["sales"]);

const bySite: RateLimit<SiteMachine> = {
  name: "sales",
  requests: 300,
  windowSeconds: 60,
  key: ({ actor }) => actor.siteId,
  whenRedisIsDown: "fail-open",
};
export const salesLimits = { before: addressLimit("sales-address", 300), after: bySite };

/**
 * A point is always the decimal mark here, so hundredths are the same in every currency: "12.500" is 12.50. SQL knows the site's
 * currency and rejects unknown codes and fractions the currency does not have.
 */
function centsOf({ amount, amount_cents }: z.output<typeof externalSaleRequest>): number | undefined {
  if (amount === undefined) return amount_cents;
  const read = hundredthsOf(String(amount));
  if (read.ok) return read.cents;
  const isFine = read.code === "AMOUNT_TOO_FINE";
  throw new AppError("INVALID_AMOUNT", {
    detail: isFine ? `OpsMantik keeps hundredths of every currency; ${amount} has a finer part.` : "The amount is not a plain number.",
  });
}

/** A body may name its site, but only the key decides it. */
function refuseOtherSite({ siteId }: SiteMachine, named: string | undefined): void {
  if (named !== undefined && named !== siteId) throw new AppError("FORBIDDEN", { detail: "This key belongs to another site." });
}

export async function recordExternalSale(actor: SiteMachine, sale: z.output<typeof externalSaleRequest>, once: RequestIdentity) {
  refuseOtherSite(actor, sale.site_id);
  const [callers = []] = await callersOf(actor.siteId, [{ phone: sale.customer_phone, hash: sale.customer_hash }]);
  const sent = {
    externalRef: sale.external_ref,
    occurredAt: sale.occurred_at,
    amountCents: centsOf(sale),
    currency: sale.currency,
    customerPhone: sale.customer_phone,
    customerHash: sale.customer_hash,
    emailHash: sale.customer_email_hash,
    gclid: sale.gclid,
    wbraid: sale.wbraid,
    gbraid: sale.gbraid,
    marketingConsent: sale.marketing_consent,
    note: sale.notes,
    callers: callers.map((caller) => ({ ...caller })),
  };
  return callRpc("record_external_sale", { p_key_id: actor.keyId, p_sale: sent, ...once }, onceAnswer);
}

export function confirmExternalSale(actor: SiteMachine, confirm: z.output<typeof confirmSaleRequest>, once: RequestIdentity) {
  refuseOtherSite(actor, confirm.site_id);
  const asked = { id: confirm.sale_id, separateSale: confirm.separate_sale };
  return callRpc("confirm_sale_and_enqueue", { p_key_id: actor.keyId, p_confirm: asked, ...once }, onceAnswer);
}
