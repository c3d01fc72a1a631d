import { globSync, readFileSync } from "node:fs";
import { isbot } from "isbot";
import { parseAst } from "rolldown/parseAst";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { csvCell, parseCsv } from "#lib/csv/csv.ts";
import { callEventBody } from "#lib/ingest/call-event.ts";
import { wireEvent } from "#lib/ingest/event-shape.ts";
import { readPageView } from "#lib/ingest/page-view.ts";
import { storedAddress } from "#lib/ingest/stored-address.ts";
import { redact } from "#lib/platform/redact.ts";
import { externalSaleRequest } from "#lib/seal/external-sales.ts";
import { readMoment } from "#lib/seal/read-dates.ts";
import { memberInvite, siteInput } from "#lib/tenancy/site-fields.ts";
import { readAmount } from "#lib/valuation/read-amount.ts";

const shortChars = 2_000;
const longChars = 4 * shortChars;
/** Most linear work at the long size is far below this. */
const suspiciousMs = 3;
const roundsMin = 5;
const roundsMax = 40;

function elapsedMs(run: () => void): number {
  const startedAt = performance.now();
  run();
  return performance.now() - startedAt;
}

/**
 * Four times the text may take four times as long, and twice that for the machine; quadratic work takes sixteen times as long. What a busy machine
 * adds is not in the fastest of many rounds; only work that still looks slow after all of them is.
 */
function isSlow(run: (chars: number) => void): boolean {
  if (elapsedMs(() => run(longChars)) < suspiciousMs) return false;
  let [long, short] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 1; round <= roundsMax; round++) {
    long = Math.min(
      long,
      elapsedMs(() => run(longChars)),
    );
    short = Math.min(
      short,
      elapsedMs(() => run(shortChars)),
    );
    if (round >= roundsMin && (long <= suspiciousMs || long / short <= 9)) return false;
  }
  return true;
}

/** A text that repeats one piece, with an end that makes a match fail at the last moment. */
const attack = (prefix: string, unit: string, suffix: string) => (chars: number) =>
  prefix + unit.repeat(Math.ceil(chars / unit.length)) + suffix;
const units = [
  "a",
  "A",
  "0",
  " ",
  "\t",
  "\n",
  "-",
  "_",
  ".",
  ",",
  ";",
  ":",
  "/",
  "=",
  "%",
  "&",
  "#",
  "@",
  '"',
  "'",
  "(",
  "\\",
  "ü",
  "a.",
  "a-",
  "0 ",
  '""',
  "%3D",
];
const suffixes = ["", "!", "\u0000", '"x'];

/** The first text that takes more than linear time. */
function slowInput(run: (text: string) => unknown, prefixes = [""], more: string[] = []): string | null {
  for (const prefix of prefixes)
    for (const unit of [...units, ...more])
      for (const suffix of suffixes) {
        const text = attack(prefix, unit, suffix);
        if (isSlow((chars) => run(text(chars)))) return JSON.stringify([prefix, unit, suffix]);
      }
  return null;
}

interface FoundPattern {
  where: string;
  pattern: RegExp;
}

/** Every regular expression written in the app's sources, found by a parser. */
function patternsIn(path: string): FoundPattern[] {
  const found: FoundPattern[] = [];
  const text = readFileSync(path, "utf8");
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null) return;
    if ("regex" in node && node.regex) {
      const { pattern, flags } = z.object({ pattern: z.string(), flags: z.string() }).parse(node.regex);
      found.push({ where: `${path} /${pattern}/${flags}`, pattern: new RegExp(pattern, flags) });
    }
    Object.values(node).forEach(visit);
  };
  visit(parseAst(text, { lang: path.endsWith("x") ? "tsx" : "ts" }));
  return found;
}

const sources = globSync(["{lib,app,components}/**/*.{ts,tsx}", "proxy.ts", "instrumentation.ts"]);
const patterns = sources.flatMap(patternsIn);

/** The literal pieces of a pattern: what it begins with, and what its repetitions could be fed. */
function piecesOf({ source }: RegExp): string[] {
  return [...new Set(source.match(/[A-Za-z0-9:=%/_]{2,12}/g))].slice(0, 6);
}

// Guarantee: no text makes a pattern of ours take quadratic time. Mutation: write /(a+)+$/ or /\s+$/ anywhere in lib.
describe("long hostile texts", () => {
  test("the parser finds the patterns", () => {
    expect(patterns.length).toBeGreaterThan(90);
    expect(patterns.map(({ where }) => where)).toContain("lib/site.ts /^[0-9a-f]{32}$/");
  });

  test.each(patterns)(
    "take $where linear time",
    ({ pattern }) => {
      const pieces = piecesOf(pattern);
      const run = (text: string) => (pattern.global ? text.replace(pattern, "") : pattern.test(text));
      expect(slowInput(run, ["", ...pieces], pieces)).toBe(null);
    },
    60_000,
  );

  const shape = (schema: z.ZodType, field?: string) => (text: string) => schema.safeParse(field ? { [field]: text } : text);
  test.each<[string, (text: string) => unknown, string[]?]>([
    ["stored addresses", storedAddress, ["https://a.test/", "https://a.test/?", "https://a.test/#/"]],
    ["cells that are written", csvCell],
    ["CSV that is read", (text) => parseCsv(text), ["", '"', 'a,"']],
    ["CSV with semicolons", (text) => parseCsv(text, ";"), ["", '"']],
    ["amounts", (text) => readAmount(text, "TRY")],
    ["log lines", (text) => redact({ text })],
    ["robots' names", isbot],
    ["e-mail addresses", shape(memberInvite, "email"), ["", "a@", "a@b."]],
    ["domains", shape(siteInput, "domains")],
    ["page views", (text) => readPageView(JSON.stringify({ siteId: "a".repeat(32), gclid: text, fp: text }))],
    ["events", (text) => wireEvent.safeParse({ u: `https://a.test/?${text}`, r: text, el: text })],
    ["call reports", (text) => callEventBody.safeParse({ url: `https://a.test/${text}`, phone_number: text })],
    ["sales", (text) => externalSaleRequest.safeParse({ occurred_at: text, amount: text, customer_hash: text })],
    ["dates", (text) => readMoment(text, "UTC", "dayFirst"), ["", "1.1.2026", "1/1/2026", "2026-01-01"]],
    ["times", shape(z.iso.datetime({ offset: true }))],
    ["ids", shape(z.uuid())],
  ])(
    "take %s linear time",
    (_name, run, prefixes) => {
      expect(slowInput(run, prefixes)).toBe(null);
    },
    60_000,
  );
});
