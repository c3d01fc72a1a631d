import { csvLine } from "#lib/csv/csv.ts";

/** A file of sales to begin with: one line with everything, one with what is needed. Of the last days, since old sales are refused. */
export function exampleImport(
  columns: Record<"ref" | "date" | "amount" | "currency" | "phone" | "gclid" | "consent" | "note", string>,
  currency: string,
  now: Date,
): string {
  const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000).toISOString().slice(0, 10);
  return [
    csvLine([columns.ref, columns.date, columns.amount, columns.currency, columns.phone, columns.gclid, columns.consent, columns.note]),
    csvLine(["A-1001", daysAgo(2), "4250", currency, "+90 532 000 00 01", "", "1", ""]),
    csvLine(["A-1002", daysAgo(1), "1800", currency, "", "", "", ""]),
  ].join("");
}
