import { expect, test } from "vitest";
import { parseAmount } from "#lib/leads/parse-amount.ts";

// Guarantee: what an operator writes in either country's manner is the amount they meant, never a hundred times it.
test.each([
  ["4250", 425_000],
  ["4.250", 425_000],
  ["4,250", 425_000],
  ["4.250,50", 425_050],
  ["4,250.5", 425_050],
  ["₺ 4 250", 425_000],
  ["0,5", 50],
  ["1.234.567,89", 123_456_789],
  ["12,34", 1234],
])("%s is %i cents", (text, cents) => {
  expect(parseAmount(text)).toBe(cents);
});

test.each(["", "0", "0,00", "-5", "abc", "4,25,0", "12.3456", "1e5", "99999999999999"])("%j is no amount", (text) => {
  expect(parseAmount(text)).toBeNull();
});
