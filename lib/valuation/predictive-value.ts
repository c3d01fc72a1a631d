import { divideRounded, parseDecimal } from "./exact-decimal.ts";

const weightMax = 100;
const weightDecimalsMax = 6;

/**
 * The expected value of a lead, in whole cents: the site's average order × the weight of the lead's stage. SQL decides the value of a sale;
 * this shows it while an owner types. Settings that no site may have throw: a guess would look like money.
 */
export function calculateExpectedValue(aovCents: number, weight: number): number {
  if (!Number.isSafeInteger(aovCents) || aovCents < 0) throw new RangeError("aovCents must be whole cents, 0 or more");
  const exact = parseDecimal(weight);
  const unit = 10n ** BigInt(exact?.scale ?? 0);
  if (!exact || exact.digits < 0n || exact.scale > weightDecimalsMax || exact.digits > BigInt(weightMax) * unit) {
    throw new RangeError(`a weight must be 0 to ${weightMax} with at most ${weightDecimalsMax} decimals`);
  }
  return Number(divideRounded(BigInt(aovCents) * exact.digits, unit));
}
