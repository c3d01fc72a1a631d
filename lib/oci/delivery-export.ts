import { csvLine } from "#lib/billing/csv.ts";
import { streamedCsv } from "#lib/billing/csv-response.ts";
import type { SessionClient } from "#lib/db/session-client.ts";
import { type DaySpan, type DeliveryLine, readDeliveryDays } from "./delivery-days.ts";

/** Excel takes a file without it for the machine's own code page. */
const byteOrderMark = "\uFEFF";

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

/** What we sent against what Google says, a line per day and currency. It is read before anything is answered, so a refusal is still one. */
export async function deliveryCsv(db: SessionClient, publicId: string, { bom, ...span }: DaySpan & { bom: boolean }): Promise<Response> {
  const { from, to, days } = await readDeliveryDays(db, publicId, span);
  async function* lines() {
    yield (bom ? byteOrderMark : "") + csvLine(columns.map(([name]) => name));
    yield days.map((line) => csvLine(columns.map(([, cell]) => cell(line)))).join("");
  }
  return streamedCsv(lines(), `delivery-${from}-${to}.csv`);
}
