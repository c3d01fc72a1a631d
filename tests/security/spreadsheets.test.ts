import fc from "fast-check";
import { expect, test } from "vitest";
import { csvLine, parseCsv } from "#lib/csv/csv.ts";

const signs = ["=", "+", "-", "@", "＝", "＋", "－", "＠"];
const pieces = fc.constantFrom(...signs, ";", "\t", "\r", "\n", "\0", '"', ",", " ", "'", "a", "1", "HYPERLINK(");
const text = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(""));

// Guarantee: a file that strangers' texts go into runs nothing on the computer of who opens it, whichever separator their language uses.
// Mutation: look at the beginning of a cell only.
test.each([",", ";", "\t"])("no text becomes a formula in a spreadsheet that splits at %j", (delimiter) => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (cells) => {
      // A spreadsheet that does not honour our quotes sees pieces that begin or end with one.
      for (const row of parseCsv(csvLine(["lead", ...cells]), delimiter))
        for (const cell of row) expect(signs.some((sign) => cell.startsWith(sign))).toBe(false);
    }),
    { numRuns: 2_000 },
  );
});

test("what is written and read with the same separator is the text, but for the apostrophes", () => {
  fc.assert(
    fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (cells) => {
      const withoutApostrophes = (each: string) => each.replaceAll("'", "");
      expect(parseCsv(csvLine(["lead", ...cells])).map((row) => row.map(withoutApostrophes))).toEqual([
        ["lead", ...cells.map(withoutApostrophes)],
      ]);
    }),
  );
});
