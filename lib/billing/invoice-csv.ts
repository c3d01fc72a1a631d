import { csvLine } from "#lib/csv/csv.ts";
import type { Invoice } from "./billing-shapes.ts";

/** Whole and hundredth parts with a point, as every accounting program reads them. */
const decimal = (cents: number) =>
  `${cents < 0 ? "-" : ""}${Math.trunc(Math.abs(cents) / 100)}.${String(Math.abs(cents) % 100).padStart(2, "0")}`;

/** One line per line of the invoice. Amounts are numbers, so a credit's minus sign is not taken for a formula. */
export function invoiceCsv(invoice: Invoice): string {
  const line = (kind: string, about: string, events: number | null, cents: number) =>
    csvLine([invoice.yearMonth, kind, about, events, Number(decimal(cents)), invoice.currency]);
  return [
    csvLine(["month", "line", "about", "events", "amount", "currency"]),
    line("plan", invoice.planName ?? "", invoice.eventCount, invoice.baseCents),
    line("overage", "", invoice.overageEvents, invoice.overageCents),
    ...invoice.adjustments.map(({ yearMonth, events, cents }) => line("adjustment", yearMonth, events, cents)),
    ...invoice.credits.map(({ day, units, cents }) => line("credit", day, -units, cents)),
    line("total", invoice.contentHash, null, invoice.totalCents),
  ].join("");
}
