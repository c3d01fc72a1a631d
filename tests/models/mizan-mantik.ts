import { divideRounded } from "#lib/valuation/exact-decimal.ts";

const dayMs = 86_400_000;

/** The further a signal is from its click, the less it is worth: those who close fast are the ones to bid for. */
const buckets = [
  { bucket: "HOT", daysMax: 3, percent: 50n },
  { bucket: "WARM", daysMax: 10, percent: 25n },
  { bucket: "COLD", daysMax: Number.POSITIVE_INFINITY, percent: 10n },
] as const;

interface DecayedValue {
  /** A multiple of 100: MizanMantik rounds to whole currency units, halves up. */
  valueCents: number;
  bucket: "HOT" | "WARM" | "COLD";
  /** Begun days: 3 days and a millisecond are 4. A signal that is older than its click counts as simultaneous. */
  days: number;
}

export function calculateDecayedValue(baseCents: number, clickedAt: Date, signalAt: Date): DecayedValue {
  if (!Number.isSafeInteger(baseCents) || baseCents < 0) throw new RangeError("baseCents must be whole cents, 0 or more");
  const days = Math.ceil(Math.max(0, signalAt.getTime() - clickedAt.getTime()) / dayMs);
  const found = buckets.find(({ daysMax }) => days <= daysMax);
  if (!found) throw new RangeError("clickedAt and signalAt must be valid times");
  return { valueCents: Number(divideRounded(BigInt(baseCents) * found.percent, 10_000n)) * 100, bucket: found.bucket, days };
}
