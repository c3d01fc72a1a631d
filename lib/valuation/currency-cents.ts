import { currencyDecimals } from "./currencies.ts";
import { parseDecimal } from "./exact-decimal.ts";

/**
 * Money is stored as hundredths ("cents") of every currency, whatever its ISO exponent, so that value_cents / 100 is always the
 * amount. A yen or a won has no hundredths: its cents are a multiple of 100. A Kuwaiti dinar has thousandths: an amount whose third
 * decimal is not 0 is refused, never rounded.
 */

/** A thousand million units is a slip of the keyboard, not a sale. */
const centsMax = 100_000_000_000;

export type AmountRefusal =
  | "CURRENCY_UNKNOWN"
  | "AMOUNT_NOT_A_NUMBER"
  | "AMOUNT_NEGATIVE"
  | "AMOUNT_ZERO"
  | "AMOUNT_TOO_FINE"
  | "AMOUNT_TOO_LARGE";

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

type Cents = { ok: true; cents: number } | { ok: false; code: AmountRefusal };

/** Hundredths of plain decimal text ("1500.50"), in any currency: a machine's point is always the decimal mark. Nothing is rounded. */
export function hundredthsOf(amount: string): Cents {
  const parsed = parseDecimal(amount);
  if (!parsed) return { ok: false, code: "AMOUNT_NOT_A_NUMBER" };
  const unit = 10n ** BigInt(parsed.scale);
  const hundredths = parsed.digits * 100n;
  return hundredths % unit === 0n ? { ok: true, cents: Number(hundredths / unit) } : { ok: false, code: "AMOUNT_TOO_FINE" };
}

/** The same, as an amount that a sale in this currency can have. */
export function centsOfAmount(amount: string, currency: string): Cents {
  if (currencyDecimals(currency) === null) return { ok: false, code: "CURRENCY_UNKNOWN" };
  const read = hundredthsOf(amount);
  const code = read.ok ? checkCents(read.cents, currency) : read.code;
  return code ? { ok: false, code } : read;
}
