import { currencyDecimals } from "#lib/valuation/currencies.ts";
import { type AmountRefusal, checkCents } from "#lib/valuation/currency-cents.ts";
import { divideRounded } from "#lib/valuation/exact-decimal.ts";

/** What a conversion was worth when it was made, and who says so. */
type ConversionValue =
  | { ok: true; valueCents: number; source: "OPERATOR" | "PREDICTED" | "DECAYED" | "VOLUME" }
  | { ok: false; code: AmountRefusal | "NO_EXPECTED_VALUE" };

type ValueFacts =
  /** A seal: what the operator wrote, and what the site expects of such a lead. */
  | { pipeline: "seal"; amountCents: number | null; expectedCents: number; currency: string }
  /** A signal: its value after decay. */
  | { pipeline: "signal"; decayedCents: number; currency: string }
  /** A page view says "this happened" and carries no money. */
  | { pipeline: "pv" };

/**
 * The value of a conversion, chosen once, when it is made, and frozen there; an export only formats it. An amount that was given
 * wins and is never repaired: an explicit 0 is refused, since a forgotten field and a free sale look the same to a bidding machine.
 * No amount means the expected value, rounded to what the currency can express; where that is nothing there is no conversion.
 */
export function chooseConversionValue(facts: ValueFacts): ConversionValue {
  if (facts.pipeline === "pv") return { ok: true, valueCents: 0, source: "VOLUME" };
  if (facts.pipeline === "signal") return computed(facts.decayedCents, facts.currency, "DECAYED");
  if (facts.amountCents === null) return computed(facts.expectedCents, facts.currency, "PREDICTED");
  const code = checkCents(facts.amountCents, facts.currency);
  return code ? { ok: false, code } : { ok: true, valueCents: facts.amountCents, source: "OPERATOR" };
}

function computed(cents: number, currency: string, source: "PREDICTED" | "DECAYED"): ConversionValue {
  const valueCents = Number.isSafeInteger(cents) ? roundToCurrency(cents, currency) : cents;
  const code = checkCents(valueCents, currency);
  if (code) return { ok: false, code: code === "AMOUNT_ZERO" ? "NO_EXPECTED_VALUE" : code };
  return { ok: true, valueCents, source };
}

/** Cents to the nearest amount that the currency can express. */
function roundToCurrency(cents: number, currency: string): number {
  return currencyDecimals(currency) === 0 ? Number(divideRounded(BigInt(cents), 100n)) * 100 : cents;
}
