import { parseCsv } from "#lib/billing/csv.ts";
import { momentOf } from "#lib/i18n/zoned-time.ts";
import { centsOfAmount } from "#lib/valuation/currency-cents.ts";
import { readAmount } from "#lib/valuation/read-amount.ts";
import { type ImportField, readHeader, requiredFields } from "./import-columns.ts";

/** One line of a file, as the database takes it. */
export interface ImportRow {
  line: number;
  externalRef: string;
  occurredAt: string;
  amountCents: number;
  currency: string;
  customerPhone?: string;
  customerHash?: string;
  gclid?: string;
  wbraid?: string;
  gbraid?: string;
  marketingConsent?: boolean;
  note?: string;
}
export type LineProblem = "REF_MISSING" | "REF_TWICE" | "DATE_UNREADABLE" | "AMOUNT_UNREADABLE" | "CURRENCY_UNKNOWN";
export interface ReadImport {
  rows: ImportRow[];
  problems: { line: number; problem: LineProblem; ref: string }[];
  found: ImportField[];
  missing: ImportField[];
}

interface ImportSite {
  currency: string;
  timezone: string;
}

/** Files over this are refused before they are read. */
export const importRowsMax = 2000;
export const importBytesMax = 1_000_000;

/** Excel in Turkish writes windows-1254 unless told otherwise. */
export function decodeFile(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1254").decode(bytes);
  }
}

/** Whatever separates the first line best: Excel uses a semicolon where the comma is the decimal sign. */
function delimiterOf(text: string): string {
  const first = text.slice(0, text.indexOf("\n") >= 0 ? text.indexOf("\n") : undefined);
  const counts = [";", "\t", ","].map((mark) => ({ mark, count: first.split(mark).length }));
  return counts.reduce((best, next) => (next.count > best.count ? next : best)).mark;
}

/** A day and perhaps a time, as files write them, on the site's clock unless it says a zone. A day alone is its noon. */
function readMoment(text: string, timeZone: string): string | null {
  const iso = /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2}))?(?:\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?$/.exec(text);
  const local = /^(\d{1,2})[./-](\d{1,2})[./-](\d{4})(?:[ ,T]+(\d{1,2}):(\d{2})(?::(\d{2}))?)?$/.exec(text);
  const [year, month, day, hour, minute, second] = iso
    ? iso.slice(1, 7)
    : local
      ? [local[3], local[2], local[1], ...local.slice(4, 7)]
      : [];
  if (!year) return null;
  const wall = new Date(
    Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour ?? 12), Number(minute ?? 0), Number(second ?? 0)),
  );
  if (wall.getUTCDate() !== Number(day) || wall.getUTCMonth() !== Number(month) - 1 || Number(hour ?? 0) > 23 || Number(minute ?? 0) > 59)
    return null;
  const zone = iso?.[7];
  if (!zone) return momentOf(wall, timeZone).toISOString();
  const offset = zone === "Z" ? 0 : (zone.startsWith("-") ? -1 : 1) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2)));
  return new Date(wall.getTime() - offset * 60_000).toISOString();
}

const yes = /^(1|true|yes|y|evet|e|var)$/i;

/** A file's text to rows, each with its line number, and what could not be read. Nothing is guessed: an unreadable line is a problem. */
export function readImport(text: string, site: ImportSite): ReadImport {
  const [header = [], ...lines] = parseCsv(text.replace(/^\ufeff/, ""), delimiterOf(text));
  const places = readHeader(header);
  const missing = requiredFields.filter((field) => !places.has(field));
  const result: ReadImport = { rows: [], problems: [], found: [...places.keys()], missing };
  if (missing.length > 0) return result;
  const seen = new Set<string>();
  for (const [index, cells] of lines.slice(0, importRowsMax).entries()) {
    if (cells.every((cell) => cell.trim() === "")) continue;
    const line = index + 2;
    const cell = (field: ImportField) => cells[places.get(field) ?? -1]?.trim() ?? "";
    const read = readLine({ line, cell }, site, seen);
    if (typeof read === "string") result.problems.push({ line, problem: read, ref: cell("externalRef").slice(0, 120) });
    else result.rows.push(read);
  }
  return result;
}

function readLine(
  { line, cell }: { line: number; cell: (field: ImportField) => string },
  site: ImportSite,
  seen: Set<string>,
): ImportRow | LineProblem {
  const externalRef = cell("externalRef");
  if (externalRef === "") return "REF_MISSING";
  if (seen.has(externalRef)) return "REF_TWICE";
  seen.add(externalRef);
  const occurredAt = readMoment(cell("occurredAt"), site.timezone);
  if (!occurredAt) return "DATE_UNREADABLE";
  const currency = cell("currency").toUpperCase().replace(/^TL$/, "TRY") || site.currency;
  const amount = centsOfAmount(readAmount(cell("amount")) ?? "", currency);
  if (!amount.ok) return amount.code === "CURRENCY_UNKNOWN" ? "CURRENCY_UNKNOWN" : "AMOUNT_UNREADABLE";
  const optional = (["customerPhone", "customerHash", "gclid", "wbraid", "gbraid", "note"] as const).filter((field) => cell(field) !== "");
  return {
    line,
    externalRef,
    occurredAt,
    amountCents: amount.cents,
    currency,
    ...Object.fromEntries(optional.map((field) => [field, cell(field)])),
    ...(cell("marketingConsent") !== "" && { marketingConsent: yes.test(cell("marketingConsent")) }),
  };
}
