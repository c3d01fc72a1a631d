import { expect, test } from "vitest";
import { readAmount } from "#lib/valuation/read-amount.ts";
import { everyCase } from "#tests/support/every-case.ts";

const read = (...given: Parameters<typeof readAmount>) => {
  const reading = readAmount(...given);
  return reading.ok ? reading.cents : reading.code;
};

// Guarantee: what somebody writes in either country's manner is the amount they meant, never a hundred or a thousand times it.
test("an amount in lira has one reading or a reason", () => {
  everyCase(
    [
      ["4250", 425_000],
      ["4.250", 425_000],
      ["4,250", 425_000],
      ["4.250,50", 425_050],
      ["4,250.50", 425_050],
      ["4,250.5", 425_050],
      ["1.234.567", 123_456_700],
      ["1,234,567.8", 123_456_780],
      ["1.234.567,89", 123_456_789],
      ["4250,5", 425_050],
      ["4250.50", 425_050],
      ["12,34", 1234],
      ["0,99", 99],
      ["0,5", 50],
      ["0.500", 50],
      ["₺4.250,00", 425_000],
      ["₺ 4 250", 425_000],
      ["4.250 TL", 425_000],
      ["TRY 4 250,50", 425_050],
      ["£1'250.00", 125_000],
      ["-100", "AMOUNT_NEGATIVE"],
      ["-5", "AMOUNT_NEGATIVE"],
      ["0", "AMOUNT_ZERO"],
      ["0,00", "AMOUNT_ZERO"],
      ["0.505", "AMOUNT_TOO_FINE"],
      ["12.3456", "AMOUNT_TOO_FINE"],
      ["99999999999999", "AMOUNT_TOO_LARGE"],
      ["1250.500", "AMOUNT_NOT_A_NUMBER"],
      ["1.23.456", "AMOUNT_NOT_A_NUMBER"],
      ["1,2,3", "AMOUNT_NOT_A_NUMBER"],
      ["4,25,0", "AMOUNT_NOT_A_NUMBER"],
      ["12.34,56.7", "AMOUNT_NOT_A_NUMBER"],
      ["", "AMOUNT_NOT_A_NUMBER"],
      ["abc", "AMOUNT_NOT_A_NUMBER"],
      ["NaN", "AMOUNT_NOT_A_NUMBER"],
      ["1e9", "AMOUNT_NOT_A_NUMBER"],
      ["1e5", "AMOUNT_NOT_A_NUMBER"],
      ["12 elma", "AMOUNT_NOT_A_NUMBER"],
    ] as const,
    ([text, expected]) => {
      expect(read(text, "TRY")).toBe(expected);
    },
  );
});

// Guarantee: twelve and a half dinars are never sent as twelve thousand five hundred: where both are common, nobody guesses.
test("one mark before three digits has two readings where a currency has three decimals", () => {
  everyCase(["KWD", "BHD", "OMR", "TND", "JOD", "IQD", "LYD"], (currency) => {
    for (const text of ["12.500", "12,500", " 12.500 ", `${currency} 12,500`]) {
      expect(read(text, currency)).toBe("AMOUNT_AMBIGUOUS");
      expect(read(text, currency, "decimals")).toBe(1250);
      expect(read(text, currency, "thousands")).toBe(1_250_000);
    }
  });
});

test("an amount in dinars without that doubt has one reading", () => {
  everyCase(
    [
      ["12.50", 1250],
      ["12.5", 1250],
      ["12", 1200],
      ["0.500", 50],
      ["0,050", 5],
      ["1250.500", 125_050],
      ["1,250.500", 125_050],
      ["1.250,500", 125_050],
      ["1.250.500", 125_050_000],
      ["12 500", 1_250_000],
      ["0.505", "AMOUNT_TOO_FINE"],
      ["1250.505", "AMOUNT_TOO_FINE"],
      ["1,250.505", "AMOUNT_TOO_FINE"],
    ] as const,
    ([text, expected]) => {
      expect(read(text, "KWD")).toBe(expected);
    },
  );
});

// Guarantee: a third decimal that cannot be kept is refused, not rounded away and not taken for thousands.
test("a third decimal that is not 0 is asked about, and as decimals refused", () => {
  expect(read("12.505", "KWD")).toBe("AMOUNT_AMBIGUOUS");
  expect(read("12.505", "KWD", "decimals")).toBe("AMOUNT_TOO_FINE");
  expect(read("12.505", "KWD", "thousands")).toBe(1_250_500);
});

test("what a person said of a file holds for its lines in other currencies too", () => {
  expect(read("12.500", "TRY", "decimals")).toBe(1250);
  expect(read("12.500", "JPY", "decimals")).toBe("AMOUNT_TOO_FINE");
  expect(read("12.500", "JPY")).toBe(1_250_000);
  expect(read("12.500", "ZZZ")).toBe("CURRENCY_UNKNOWN");
});
