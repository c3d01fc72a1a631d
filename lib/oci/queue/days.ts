import { z } from "zod";
import { pagedCsv } from "#lib/csv/paged-csv.ts";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { type SiteId, siteIdShape } from "#lib/site.ts";

const day = z.iso.date();

/** Both days are included and are days of the site's time zone; without them the last 30 days. */
export const deliveryDaysQuery = z.strictObject({ siteId: siteIdShape, from: day.optional(), to: day.optional() });
export const deliveryExportQuery = deliveryDaysQuery.extend({ bom: z.enum(["true", "false"]).default("true") });

const line = z.object({
  day,
  currency: z.string(),
  /** Conversions by the way they took. */
  sent: z.object({ script: z.number(), data_manager: z.number(), ads_api: z.number(), by_hand: z.number() }),
  confirmed: z.number(),
  duplicate: z.number(),
  rejected: z.number(),
  unknown: z.number(),
  /** Google has not said yet, and is asked again. */
  waiting: z.number(),
  /** The way gives no verdict: script, by hand, Google Ads API. */
  noVerdict: z.number(),
  sentCents: z.number(),
  /** Duplicates included: Google has them. */
  confirmedCents: z.number(),
  rejectedCents: z.number(),
  restated: z.number(),
  retracted: z.number(),
  adjustmentsRejected: z.number(),
});
export type DeliveryLine = z.output<typeof line>;

export const deliveryDays = z.object({ siteId: siteIdShape, timezone: z.string(), from: day, to: day, days: z.array(line) });
export type DeliveryDays = z.output<typeof deliveryDays>;

export interface DaySpan {
  from?: string | undefined;
  to?: string | undefined;
}

export const readDeliveryDays = (db: SessionClient, siteId: SiteId, { from, to }: DaySpan) =>
  callAsUser(db, "delivery_days", { p_public_id: siteId, ...(from && { p_from: from }), ...(to && { p_to: to }) }, deliveryDays);

const columns: [string, (line: DeliveryLine) => string | number][] = [
  ["day", (line) => line.day],
  ["currency", (line) => line.currency],
  ["sent_script", (line) => line.sent.script],
  ["sent_data_manager", (line) => line.sent.data_manager],
  ["sent_ads_api", (line) => line.sent.ads_api],
  ["sent_by_hand", (line) => line.sent.by_hand],
  ["confirmed", (line) => line.confirmed],
  ["duplicate", (line) => line.duplicate],
  ["rejected", (line) => line.rejected],
  ["unknown", (line) => line.unknown],
  ["waiting_for_verdict", (line) => line.waiting],
  ["no_verdict_possible", (line) => line.noVerdict],
  ["sent_value", (line) => line.sentCents / 100],
  ["confirmed_value", (line) => line.confirmedCents / 100],
  ["rejected_value", (line) => line.rejectedCents / 100],
  ["corrections", (line) => line.restated],
  ["retractions", (line) => line.retracted],
  ["adjustments_rejected", (line) => line.adjustmentsRejected],
];

/** What we sent against what Google says, a line per day and currency. It is read before the answer begins, so a refusal still has its status. */
export async function deliveryCsv(db: SessionClient, siteId: SiteId, { bom, ...span }: DaySpan & { bom: boolean }): Promise<Response> {
  const { from, to, days } = await readDeliveryDays(db, siteId, span);
  return pagedCsv({ name: `delivery-${from}-${to}.csv`, bom, columns, read: async () => ({ rows: days, next: null }) });
}
