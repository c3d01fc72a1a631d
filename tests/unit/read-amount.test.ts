import { expect, test } from "vitest";
import { readAmount } from "#lib/valuation/read-amount.ts";

// Guarantee: a thousand is never read as one: the amount is what the person who wrote it means, or it is refused.
test.each([
  ["4250", "4250"],
  ["4.250", "4250"],
  ["4,250", "4250"],
  ["4.250,50", "4250.50"],
  ["4,250.50", "4250.50"],
  ["1.234.567", "1234567"],
  ["1,234,567.8", "1234567.8"],
  ["4250,5", "4250.5"],
  ["4250.50", "4250.50"],
  ["0,99", "0.99"],
  ["₺4.250,00", "4250.00"],
  ["4.250 TL", "4250"],
  ["TRY 4 250,50", "4250.50"],
  ["£1'250.00", "1250.00"],
  ["-100", "-100"],
  ["1.23.456", null],
  ["1,2,3", null],
  ["12.34,56.7", null],
  ["", null],
  ["NaN", null],
  ["1e9", null],
  ["12 elma", null],
])("%j reads as %j", (text, amount) => {
  expect(readAmount(text)).toBe(amount);
});
