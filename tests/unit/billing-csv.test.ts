import { expect, test } from "vitest";
import type { Invoice } from "#lib/billing/billing-shapes.ts";
import { invoiceCsv } from "#lib/billing/invoice-csv.ts";
import { readEventsCsv } from "#lib/billing/verify-invoice.ts";
import { csvCell, csvLine, parseCsv } from "#lib/csv/csv.ts";

test.each([
  ["plain", '"plain"'],
  ["", '""'],
  ['say "hi", you', '"say ""hi"", you"'],
  ["two\r\nlines", '"two\r\nlines"'],
  ["=1+1", `"'=1+1"`],
  ["+1", `"'+1"`],
  ["-1", `"'-1"`],
  ["@sum", `"'@sum"`],
  ["＝1+1", `"'＝1+1"`],
  ["＋1", `"'＋1"`],
  ["－1", `"'－1"`],
  ["＠sum", `"'＠sum"`],
  ["\tx", `"'\tx"`],
  ["\0=1", `"'\0'=1"`],
  ["\r=1+1", `"'\r'=1+1"`],
  ["\n=1+1", `"'\n'=1+1"`],
  ["a;=1+1", `"a;'=1+1"`],
  ["a\t＝1", `"a\t'＝1"`],
  ["1+1=2; b", '"1+1=2; b"'],
  ['=cmd|"/c calc"!A0,', `"'=cmd|""/c calc""!A0,"`],
])("the text %j is the cell %j", (text, cell) => {
  expect(csvCell(text)).toBe(cell);
});

test("numbers stay numbers, nothing is an empty cell", () => {
  expect(csvLine([-3, 0, null, "x"])).toBe('-3,0,,"x"\r\n');
});

test("what is written is read again", () => {
  const rows = [
    ["a", 'b "c"', "d,e"],
    ["", "two\r\nlines", ""],
    ["", "", ""],
  ];
  expect(parseCsv(rows.map(csvLine).join(""))).toEqual(rows);
  expect(parseCsv("a,b")).toEqual([["a", "b"]]);
  expect(parseCsv("a,\n")).toEqual([["a", ""]]);
  expect(parseCsv("")).toEqual([]);
  expect(parseCsv("a,")).toEqual([["a", ""]]);
  expect(parseCsv("\n\r\na")).toEqual([[""], [""], ["a"]]);
});

test("a quote in the wrong place is part of its cell, and one that is never closed takes the rest", () => {
  expect(parseCsv('12" pipe,"x" y,"open,\n1')).toEqual([['12" pipe', "x y", "open,\n1"]]);
});

test("an events file is read by its column names; anything that is not an event is refused", () => {
  const key = "0123456789abcdef".repeat(4);
  expect(readEventsCsv(`\uFEFFkey,event,time_utc\n${key},x,2026-03-01T00:00:00.5Z\n`)).toEqual([{ at: "2026-03-01T00:00:00.5Z", key }]);
  expect(() => readEventsCsv("a,b\n1,2\n")).toThrow(/columns/);
  expect(() => readEventsCsv(`time_utc,event,key\n2026-03-01T00:00:00Z,x,${key.slice(1)}\n`)).toThrow(/Line 2/);
});

test("an invoice's CSV shows a credit as a number and makes a plan's name inert", () => {
  const invoice = {
    yearMonth: "2026-03",
    planName: "=Standard",
    currency: "TRY",
    eventCount: 10,
    baseCents: 149_000,
    overageEvents: 2,
    overageCents: 5,
    adjustments: [{ yearMonth: "2026-02", events: -1, cents: -1203, eventCount: 1, eventsDigest: "" }],
    credits: [{ day: "2026-03-05", units: 2, cents: -5 }],
    totalCents: 147_797,
    contentHash: "ab",
  } as unknown as Invoice; // the file needs no more of it
  expect(invoiceCsv(invoice).split("\r\n")).toEqual([
    '"month","line","about","events","amount","currency"',
    `"2026-03","plan","'=Standard",10,1490,"TRY"`,
    '"2026-03","overage","",2,0.05,"TRY"',
    '"2026-03","adjustment","2026-02",-1,-12.03,"TRY"',
    '"2026-03","credit","2026-03-05",-2,-0.05,"TRY"',
    '"2026-03","total","ab",,1477.97,"TRY"',
    "",
  ]);
});
