import { divideRounded, parseDecimal } from "./exact-decimal.ts";

/**
 * Money is stored as hundredths ("cents") of every currency, whatever its ISO exponent, so that value_cents / 100 is always the
 * amount. A yen or a won has no hundredths: its cents are a multiple of 100. A Kuwaiti dinar has thousandths: its amounts are
 * rounded to hundredths, halves away from zero.
 */
const hundredths = 2;

/** A thousand million units is a slip of the keyboard, not a sale. */
const centsMax = 100_000_000_000;

export type AmountRefusal =
  | "CURRENCY_UNKNOWN"
  | "AMOUNT_NOT_A_NUMBER"
  | "AMOUNT_NEGATIVE"
  | "AMOUNT_ZERO"
  | "AMOUNT_TOO_FINE"
  | "AMOUNT_TOO_LARGE";

/**
 * ISO 4217's own lists. Intl knows decimals too, but CLDR's habit of writing (it gives HUF and IDR none) changes with the version
 * of the runtime, and an amount must not become invalid with it. SQL has the first list; a test compares them.
 */
const withoutDecimals = new Set("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(" "));
const withThreeDecimals = new Set("BHD IQD JOD KWD LYD OMR TND".split(" "));

/** Decimals of a currency; null for a code that is none. */
function currencyDecimals(currency: string): number | null {
  if (!Intl.supportedValuesOf("currency").includes(currency)) return null;
  if (withoutDecimals.has(currency)) return 0;
  return withThreeDecimals.has(currency) ? 3 : 2;
}

/** Whether cents are an amount that a sale in this currency can have. */
export function checkCents(cents: number, currency: string): AmountRefusal | null {
  const decimals = currencyDecimals(currency);
  if (decimals === null) return "CURRENCY_UNKNOWN";
  if (!Number.isFinite(cents)) return Number.isNaN(cents) ? "AMOUNT_NOT_A_NUMBER" : "AMOUNT_TOO_LARGE";
  if (cents < 0) return "AMOUNT_NEGATIVE";
  if (cents === 0) return "AMOUNT_ZERO";
  if (cents > centsMax) return "AMOUNT_TOO_LARGE";
  return Number.isInteger(decimals === 0 ? cents / 100 : cents) ? null : "AMOUNT_TOO_FINE";
}

/** An amount as a person writes it, in units of the currency ("1500.50"), to cents. */
export function centsOfAmount(amount: string, currency: string): { ok: true; cents: number } | { ok: false; code: AmountRefusal } {
  const decimals = currencyDecimals(currency);
  if (decimals === null) return { ok: false, code: "CURRENCY_UNKNOWN" };
  const parsed = parseDecimal(amount);
  if (!parsed) return { ok: false, code: "AMOUNT_NOT_A_NUMBER" };
  const unit = 10n ** BigInt(parsed.scale);
  const isTooFine = (parsed.digits * 10n ** BigInt(decimals)) % unit !== 0n;
  if (isTooFine) return { ok: false, code: "AMOUNT_TOO_FINE" };
  const cents = Number(divideRounded(parsed.digits * 10n ** BigInt(hundredths), unit));
  const code = checkCents(cents, currency);
  return code ? { ok: false, code } : { ok: true, cents };
}

/** Cents to the nearest amount that the currency can express. */
export function roundToCurrency(cents: number, currency: string): number {
  return currencyDecimals(currency) === 0 ? Number(divideRounded(BigInt(cents), 100n)) * 100 : cents;
}

/**
 * What an export calls `conversionValue`: units of the currency as a number. Cents up to `centsMax` divided by 100 print with at
 * most two decimals. A stored amount that its currency cannot have is a broken row and throws.
 */
export function exportValue(cents: number, currency: string): number {
  const code = cents === 0 ? null : checkCents(cents, currency);
  if (code) throw new RangeError(`${code}: ${cents} ${currency}`);
  return cents / 100;
}
