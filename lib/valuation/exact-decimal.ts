/**
 * Money is multiplied as decimals, never as floats: 100 × 1.005 is 100.49999999999999 in a float and would lose a cent.
 * The results equal Postgres's `round(numeric)`, so SQL and this code agree to the last digit.
 */
interface Decimal {
  digits: bigint;
  scale: number;
}

/** A finite number or plain decimal text, exactly as it reads; null for anything else, exponents and spaces included. */
export function parseDecimal(value: number | string): Decimal | null {
  const match = /^(-?)(\d{1,20})(?:\.(\d{1,20}))?$/.exec(String(value));
  if (!match) return null;
  const [, sign, whole = "", fraction = ""] = match;
  return { digits: BigInt(`${sign}${whole}${fraction}`), scale: fraction.length };
}

/** Rounds halves away from zero. The divisor is positive. */
export function divideRounded(dividend: bigint, divisor: bigint): bigint {
  const magnitude = dividend < 0n ? -dividend : dividend;
  const rounded = (2n * magnitude + divisor) / (2n * divisor);
  return dividend < 0n ? -rounded : rounded;
}
