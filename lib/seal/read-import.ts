import { parseCsv } from "#lib/csv/csv.ts";
import { type MarkMeaning, readAmount } from "#lib/valuation/read-amount.ts";
import { type ImportField, readHeader, requiredFields } from "./import-columns.ts";
import { type ColumnOrder, columnOrder, type DateOrder, type FileCell, readMoment } from "./read-dates.ts";

/** One line of a file, as the database takes it. */
export interface ImportRow {
  line: number;
  externalRef: string;
  occurredAt: string;
  amountCents: number;
  currency: string;
  customerPhone?: string;
  customerHash?: string;
  emailHash?: string;
  gclid?: string;
  wbraid?: string;
  gbraid?: string;
  marketingConsent?: boolean;
  note?: string;
}
export type LineProblem =
  | "REF_MISSING"
  | "REF_TWICE"
  | "DATE_UNREADABLE"
  | "DATE_AMBIGUOUS"
  | "AMOUNT_UNREADABLE"
  | "AMOUNT_AMBIGUOUS"
  | "AMOUNT_TOO_FINE"
  | "CURRENCY_UNKNOWN";

/** What a person said about a file: each answer holds for its whole column. */
export interface ImportChoices {
  dateOrder?: DateOrder;
  amountMark?: MarkMeaning;
}

/** What a file leaves open, with the first cell that shows it. Without an answer such lines are problems. */
export interface ImportQuestions {
  dateOrder?: FileCell;
  amountMark?: FileCell & { currency: string };
}

export interface ReadImport {
  rows: ImportRow[];
  problems: { line: number; problem: LineProblem; ref: string }[];
  found: ImportField[];
  missing: ImportField[];
  questions: ImportQuestions;
  /** The dates contradict each other: one line of each order. Nothing was read. */
  contradiction?: ColumnOrder["contradiction"];
}

interface ImportSite {
  currency: string;
  timezone: string;
}

/** Files over this are refused before they are read. */
export const importRowsMax = 2000;
export const importBytesMax = 1_000_000;
/** Lines that the database takes in one statement. SQL refuses more. */
export const importStepMax = 100;

/** Excel in Turkish writes windows-1254 unless set otherwise. */
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

const yes = /^(1|true|yes|y|evet|e|var)$/i;

interface Line {
  line: number;
  cell: (field: ImportField) => string;
}

/**
 * A file's text to rows, each with its line number, and what could not be read. An unreadable line is a problem,
 * and a value with two readings is asked about once, for the whole file.
 */
export function readImport(text: string, site: ImportSite, choices: ImportChoices = {}): ReadImport {
  const [header = [], ...body] = parseCsv(text.replace(/^\ufeff/, ""), delimiterOf(text));
  const places = readHeader(header);
  const missing = requiredFields.filter((field) => !places.has(field));
  const result: ReadImport = { rows: [], problems: [], found: [...places.keys()], missing, questions: {} };
  if (missing.length > 0) return result;
  const lines = body
    .slice(0, importRowsMax)
    .map((cells, index): Line => ({ line: index + 2, cell: (field) => cells[places.get(field) ?? -1]?.trim() ?? "" }))
    .filter((_, index) => body[index]?.some((cell) => cell.trim() !== ""));
  const order = columnOrder(lines.map(({ line, cell }) => ({ line, text: cell("occurredAt") })));
  if (order.contradiction) return { ...result, contradiction: order.contradiction };
  if (order.ambiguous) result.questions.dateOrder = order.ambiguous;
  const answers = { ...choices, ...(order.proven && { dateOrder: order.proven }) };
  const seen = new Set<string>();
  for (const { line, cell } of lines) {
    const currency = currencyOf(cell, site);
    const question = readAmount(cell("amount"), currency);
    if (!question.ok && question.code === "AMOUNT_AMBIGUOUS") result.questions.amountMark ??= { line, text: cell("amount"), currency };
    const read = readLine({ line, cell }, site, seen, answers);
    if (typeof read === "string") result.problems.push({ line, problem: read, ref: cell("externalRef").slice(0, 120) });
    else result.rows.push(read);
  }
  return result;
}

const currencyOf = (cell: Line["cell"], site: ImportSite) => cell("currency").toUpperCase().replace(/^TL$/, "TRY") || site.currency;

const amountProblems: Partial<Record<string, LineProblem>> = {
  CURRENCY_UNKNOWN: "CURRENCY_UNKNOWN",
  AMOUNT_AMBIGUOUS: "AMOUNT_AMBIGUOUS",
  AMOUNT_TOO_FINE: "AMOUNT_TOO_FINE",
};

const optionalFields = ["customerPhone", "customerHash", "emailHash", "gclid", "wbraid", "gbraid", "note"] as const;

function readLine({ line, cell }: Line, site: ImportSite, seen: Set<string>, choices: ImportChoices): ImportRow | LineProblem {
  const externalRef = cell("externalRef");
  if (externalRef === "") return "REF_MISSING";
  if (seen.has(externalRef)) return "REF_TWICE";
  seen.add(externalRef);
  const occurredAt = readMoment(cell("occurredAt"), site.timezone, choices.dateOrder);
  if (!occurredAt) return readMoment(cell("occurredAt"), site.timezone, "dayFirst") ? "DATE_AMBIGUOUS" : "DATE_UNREADABLE";
  const currency = currencyOf(cell, site);
  const amount = readAmount(cell("amount"), currency, choices.amountMark);
  if (!amount.ok) return amountProblems[amount.code] ?? "AMOUNT_UNREADABLE";
  const optional = optionalFields.filter((field) => cell(field) !== "");
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
