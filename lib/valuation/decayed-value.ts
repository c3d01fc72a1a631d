/** What a stage before the seal is sent with: a share of an average order that falls with the age of the click. SQL decides; a test compares. */
export const sentShares = [
  { untilDay: 3, percent: 50 },
  { untilDay: 10, percent: 25 },
  { untilDay: null, percent: 10 },
] as const;

/** In whole units of the currency, halves up, as `private.decayed_value` rounds. */
export const sentValueCents = (averageOrderCents: number, percent: number) => Math.round((averageOrderCents * percent) / 10_000) * 100;
