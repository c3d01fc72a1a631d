import { expect, test } from "vitest";
import { sealItem } from "#lib/oci/handout/items.ts";
import { eventOf } from "#lib/providers/data-manager/event-of.ts";
import { adjustmentRow, conversionRow } from "#lib/providers/google-ads/upload-rows.ts";
import type { ConversionJob } from "#lib/providers/port.ts";
import type { SiteId } from "#lib/site.ts";
import { centsOfAmount, checkCents } from "#lib/valuation/currency-cents.ts";
import { chooseConversionValue } from "#tests/models/conversion-value.ts";
import { everyCase } from "#tests/support/every-case.ts";

const seal = (amountCents: number | null, expectedCents = 10_000, currency = "TRY") =>
  chooseConversionValue({ pipeline: "seal", amountCents, expectedCents, currency });

test("an operator's amount wins over what was expected", () => {
  expect(seal(150_000)).toEqual({ ok: true, valueCents: 150_000, source: "OPERATOR" });
  expect(seal(1)).toEqual({ ok: true, valueCents: 1, source: "OPERATOR" });
  expect(seal(100_000_000_000)).toMatchObject({ ok: true, valueCents: 100_000_000_000 });
});

test("without an amount the expected value counts, and says that it was predicted", () => {
  expect(seal(null)).toEqual({ ok: true, valueCents: 10_000, source: "PREDICTED" });
});

// Guarantee: no conversion of value 0, and none of a mistyped value, can teach Google's bidding.
test.each([
  ["an explicit 0", 0, "TRY", "AMOUNT_ZERO"],
  ["minus 0", -0, "TRY", "AMOUNT_ZERO"],
  ["a negative amount", -1, "TRY", "AMOUNT_NEGATIVE"],
  ["not a number", Number.NaN, "TRY", "AMOUNT_NOT_A_NUMBER"],
  ["infinity", Number.POSITIVE_INFINITY, "TRY", "AMOUNT_TOO_LARGE"],
  ["a cent more than 10^11", 100_000_000_001, "TRY", "AMOUNT_TOO_LARGE"],
  ["half a cent", 10.5, "TRY", "AMOUNT_TOO_FINE"],
  ["a hundredth of a yen", 150_001, "JPY", "AMOUNT_TOO_FINE"],
  ["a currency that does not exist", 100, "XQQ", "CURRENCY_UNKNOWN"],
  ["a currency in small letters", 100, "try", "CURRENCY_UNKNOWN"],
  ["no currency", 100, "", "CURRENCY_UNKNOWN"],
])("%s is refused, not mended", (_name, amountCents, currency, code) => {
  expect(seal(amountCents, 10_000, currency)).toEqual({ ok: false, code });
});

test("where nothing is expected there is no conversion", () => {
  expect(seal(null, 0)).toEqual({ ok: false, code: "NO_EXPECTED_VALUE" });
  expect(seal(null, 49, "JPY")).toEqual({ ok: false, code: "NO_EXPECTED_VALUE" });
  expect(seal(null, Number.NaN)).toEqual({ ok: false, code: "AMOUNT_NOT_A_NUMBER" });
});

test("an expected value is rounded to what its currency can express", () => {
  expect(seal(null, 250, "JPY")).toEqual({ ok: true, valueCents: 300, source: "PREDICTED" });
  expect(seal(null, 250, "KRW")).toMatchObject({ valueCents: 300 });
  expect(seal(null, 250, "KWD")).toMatchObject({ valueCents: 250 });
});

test("a signal has its decayed value, a page view none", () => {
  const signal = (decayedCents: number) => chooseConversionValue({ pipeline: "signal", decayedCents, currency: "TRY" });
  expect(signal(50_000)).toEqual({ ok: true, valueCents: 50_000, source: "DECAYED" });
  expect(signal(0)).toEqual({ ok: false, code: "NO_EXPECTED_VALUE" });
  expect(chooseConversionValue({ pipeline: "pv" })).toEqual({ ok: true, valueCents: 0, source: "VOLUME" });
});

test("an amount's text becomes cents of its currency", () => {
  everyCase(
    [
      ["1500", "TRY", 150_000],
      ["1500.5", "TRY", 150_050],
      ["0.01", "TRY", 1],
      ["1000000000", "TRY", 100_000_000_000],
      ["1500.000", "TRY", 150_000],
      ["1500", "JPY", 150_000],
      ["1500.00", "JPY", 150_000],
      ["12.500", "KWD", 1250],
      ["12.500", "TRY", 1250],
    ] as const,
    ([amount, currency, cents]) => {
      expect(centsOfAmount(amount, currency)).toEqual({ ok: true, cents });
    },
  );
});

test("an amount that cannot be kept exactly is refused with its reason", () => {
  everyCase(
    [
      ["1500.005", "TRY", "AMOUNT_TOO_FINE"],
      ["1500.5", "JPY", "AMOUNT_TOO_FINE"],
      ["12.505", "KWD", "AMOUNT_TOO_FINE"],
      ["1.2345", "CLF", "AMOUNT_TOO_FINE"],
      ["0.004", "KWD", "AMOUNT_TOO_FINE"],
      ["0", "TRY", "AMOUNT_ZERO"],
      ["-5", "TRY", "AMOUNT_NEGATIVE"],
      ["1000000000.01", "TRY", "AMOUNT_TOO_LARGE"],
      ["99999999999999999999", "TRY", "AMOUNT_TOO_LARGE"],
      ["", "TRY", "AMOUNT_NOT_A_NUMBER"],
      ["NaN", "TRY", "AMOUNT_NOT_A_NUMBER"],
      ["1e3", "TRY", "AMOUNT_NOT_A_NUMBER"],
      ["1,500.00", "TRY", "AMOUNT_NOT_A_NUMBER"],
      ["1500", "XQQ", "CURRENCY_UNKNOWN"],
    ] as const,
    ([amount, currency, code]) => {
      expect(centsOfAmount(amount, currency)).toEqual({ ok: false, code });
    },
  );
});

const job = (valueCents: number, currency: string): ConversionJob => ({
  id: "row",
  kind: "RESTATE",
  via: "ads_api",
  orderId: "om_1",
  conversionAction: "customers/1/conversionActions/2",
  conversionTime: "2026-11-16T12:00:00Z",
  timezone: "Europe/Istanbul",
  valueCents,
  currency,
  gclid: "gclid-1",
  wbraid: null,
  gbraid: null,
  phoneHash: null,
  emailHash: null,
  channel: null,
  consent: null,
  mayHaveArrived: false,
});
const site = {
  siteId: "" as SiteId,
  timezone: "Europe/Istanbul",
  currency: "TRY",
  pageViews: false,
  clickMinAgeHours: 0,
  pageViewName: "",
};

// Guarantee: the script, Data Manager and the Ads API hear of the same money, without a cent of binary fractions.
// Mutation that breaks it: valueCents * 0.01 in any of the four.
test("cents are exported as the number that Google reads", () => {
  everyCase(
    [
      [150_050, "TRY", "1500.5"],
      [1, "TRY", "0.01"],
      [29, "USD", "0.29"],
      [57, "TRY", "0.57"],
      [100_000_000_000, "TRY", "1000000000"],
      [99_999_999_999, "TRY", "999999999.99"],
      [150_000, "JPY", "1500"],
      [150_000, "KRW", "1500"],
      [124, "KWD", "1.24"],
      [0, "TRY", "0"],
    ] as const,
    ([cents, currency, text]) => {
      const row = { ...job(cents, currency), conversionName: "Sale" };
      const values = [sealItem(row, site).item.conversionValue, eventOf(row).conversionValue, conversionRow(row).conversionValue];
      values.push(adjustmentRow(row).restatementValue?.adjustedValue ?? Number.NaN);
      expect(values.map((value) => JSON.stringify(value))).toEqual(Array(4).fill(text));
    },
  );
});

test("cents that no currency can have are refused", () => {
  everyCase(
    [
      [150_001, "JPY"],
      [-1, "TRY"],
      [1.5, "TRY"],
      [Number.NaN, "TRY"],
      [100, "XQQ"],
    ] as const,
    ([cents, currency]) => {
      expect(checkCents(cents, currency)).not.toBeNull();
    },
  );
});
