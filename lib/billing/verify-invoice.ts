import { createHash } from "node:crypto";
import { parseCsv } from "#lib/csv/csv.ts";
import type { CreditLine, Invoice } from "./billing-shapes.ts";

/** Recounts and re-hashes an invoice from its own text and the month's events, without any other code of this project. */

export interface CountedKey {
  at: string;
  /** 64 hex characters. */
  key: string;
}

export interface InvoiceCheck {
  /** Whether the invoice is unchanged since it was frozen. */
  hashMatches: boolean;
  /** Whether its lines add up. */
  sumMatches: boolean;
  /** Whether the events are those that were billed; "corrected" when they are those of a later correction. */
  events: "match" | "corrected" | "differ";
  counted: number;
  /** UTC days on which the events are not those that were billed. */
  differingDays: string[];
}

const sha256 = (content: string, encoding: "utf8" | "hex" = "utf8") => createHash("sha256").update(content, encoding).digest("hex");

/** Events of one page of a day's digest. */
const pageEvents = 1000;

/**
 * Each UTC day with its count and its digest: the events in the order of time, then key, a thousand at a time; SHA-256 over the digest
 * so far (nothing, at first) and the thousand's keys. Postgres does the same in private.count_page, where a step ends after a page.
 */
function digestDays(events: CountedKey[]): { day: string; events: number; digest: string }[] {
  const inOrder = events.toSorted((a, b) => (a.at === b.at ? (a.key < b.key ? -1 : 1) : a.at < b.at ? -1 : 1));
  return [...Map.groupBy(inOrder, ({ at }) => at.slice(0, 10))].map(([day, list]) => {
    let digest = "";
    for (let from = 0; from < list.length; from += pageEvents) {
      const keys = list.slice(from, from + pageEvents).map(({ key }) => key);
      digest = sha256(digest + keys.join(""), "hex");
    }
    return { day, events: list.length, digest };
  });
}

function digestEvents(days: Invoice["days"]): string {
  return sha256(days.map(({ day, events, digest }) => `${day} ${events} ${digest}\n`).join(""));
}

/** The canonical text of an invoice. Postgres writes the same in private.invoice_text; the content hash is its SHA-256. */
function invoiceText(invoice: Invoice): string {
  const lines = [
    "opsmantik invoice 1",
    `site ${invoice.site}`,
    `month ${invoice.yearMonth}`,
    `events ${invoice.eventCount}`,
    `events digest ${invoice.eventsDigest}`,
    `plan ${invoice.planName === null ? "none" : JSON.stringify(invoice.planName)}`,
    `limit ${invoice.monthlyLimit ?? "none"}`,
    `overage cents per 1000 ${invoice.overageCentsPer1000}`,
    `currency ${invoice.currency}`,
    `base cents ${invoice.baseCents}`,
    `overage events ${invoice.overageEvents}`,
    `overage cents ${invoice.overageCents}`,
    ...invoice.adjustments.map(
      ({ yearMonth, events, cents, eventCount, eventsDigest }) =>
        `adjustment ${yearMonth} events ${events} cents ${cents} to ${eventCount} ${eventsDigest}`,
    ),
    ...invoice.credits.map(
      (line) =>
        `credit ${line.day} units ${line.units} of ${line.dayEvents} cents ${line.cents} events ${line.monthEvents} before ${line.creditedBefore} limit ${line.monthlyLimit ?? "none"} at ${line.overageCentsPer1000} proof ${line.proofId} ${line.proofHash}`,
    ),
    `total cents ${invoice.totalCents}`,
    `due ${invoice.dueAt}`,
    `frozen ${invoice.frozenAt}`,
  ];
  return `${lines.join("\n")}\n`;
}

const overageOf = (events: number, limit: number | null) => (limit === null ? 0 : Math.max(0, events - limit));
const centsOf = (events: number, centsPer1000: number) => Math.floor((events * centsPer1000 + 500) / 1000);

/** A credit takes off the overage that its units made, by the terms of its month; a credit of the invoice's own month, by the invoice's terms. */
function creditAddsUp(line: CreditLine, invoice: Invoice): boolean {
  const { units, dayEvents, monthEvents, creditedBefore, monthlyLimit, overageCentsPer1000 } = line;
  const rest = monthEvents - creditedBefore;
  const costs = (events: number) => centsOf(overageOf(events, monthlyLimit), overageCentsPer1000);
  const isOwnMonth = line.day.startsWith(invoice.yearMonth);
  const ownTerms =
    monthEvents === invoice.eventCount &&
    monthlyLimit === invoice.monthlyLimit &&
    overageCentsPer1000 === invoice.overageCentsPer1000 &&
    invoice.days.some(({ day, events }) => day === line.day && units <= events);
  return units > 0 && units <= dayEvents && line.cents === costs(rest - units) - costs(rest) && (!isOwnMonth || ownTerms);
}

function addsUp(invoice: Invoice): boolean {
  const { eventCount, monthlyLimit, overageEvents, overageCents, overageCentsPer1000, baseCents, adjustments, credits, totalCents } =
    invoice;
  const lineCents = [...adjustments, ...credits].reduce((sum, { cents }) => sum + cents, 0);
  return (
    invoice.days.reduce((sum, { events }) => sum + events, 0) === eventCount &&
    digestEvents(invoice.days) === invoice.eventsDigest &&
    overageEvents === overageOf(eventCount, monthlyLimit) &&
    overageCents === centsOf(overageEvents, overageCentsPer1000) &&
    credits.every((line) => creditAddsUp(line, invoice)) &&
    totalCents === baseCents + overageCents + lineCents
  );
}

export function verifyInvoice(invoice: Invoice, events: CountedKey[]): InvoiceCheck {
  const days = digestDays(events);
  const digest = digestEvents(days);
  const billed = new Map(invoice.days.map((day) => [day.day, day.digest]));
  const found = new Map(days.map((day) => [day.day, day.digest]));
  const latest = invoice.corrections.at(-1);
  return {
    hashMatches: sha256(invoiceText(invoice)) === invoice.contentHash,
    sumMatches: addsUp(invoice),
    events: digest === invoice.eventsDigest ? "match" : digest === latest?.eventsDigest ? "corrected" : "differ",
    counted: events.length,
    differingDays: [...new Set([...billed.keys(), ...found.keys()])].filter((day) => billed.get(day) !== found.get(day)).sort(),
  };
}

/** Reads the events file: the columns time_utc and key are needed, in any place. A torn file throws. */
export function readEventsCsv(text: string): CountedKey[] {
  const [header = [], ...rows] = parseCsv(text.replace(/^\uFEFF/, ""));
  const timeColumn = header.indexOf("time_utc");
  const keyColumn = header.indexOf("key");
  if (timeColumn === -1 || keyColumn === -1) throw new Error("The first line must name the columns time_utc and key.");
  return rows.map((row, index) => {
    const [at = "", key = ""] = [row[timeColumn], row[keyColumn]];
    if (!/^\d{4}-\d{2}-\d{2}T/.test(at) || !/^[0-9a-f]{64}$/.test(key)) throw new Error(`Line ${index + 2} is not a counted event.`);
    return { at, key };
  });
}
