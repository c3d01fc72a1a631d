/** Average orders to start from, in whole units. They are a starting point for the owner's own figure, no statistic. */
const suggestions = {
  repair: { TRY: 3000, EUR: 120, USD: 150, GBP: 110 },
  locksmith: { TRY: 1500, EUR: 150, USD: 180, GBP: 130 },
  cleaning: { TRY: 3500, EUR: 120, USD: 150, GBP: 100 },
  moving: { TRY: 20_000, EUR: 800, USD: 1000, GBP: 700 },
  renovation: { TRY: 60_000, EUR: 5000, USD: 7000, GBP: 5000 },
  dental: { TRY: 15_000, EUR: 600, USD: 700, GBP: 500 },
  beauty: { TRY: 4000, EUR: 90, USD: 100, GBP: 80 },
  legal: { TRY: 25_000, EUR: 900, USD: 1500, GBP: 1000 },
  course: { TRY: 20_000, EUR: 900, USD: 500, GBP: 700 },
} as const satisfies Record<string, Record<string, number>>;

export type Trade = keyof typeof suggestions;
export const trades = Object.keys(suggestions) as Trade[]; // the keys of the table above

/** A usual order of a trade in a currency; null where we have none. */
export function suggestedOrder(trade: Trade, currency: string): number | null {
  const orders: Partial<Record<string, number>> = suggestions[trade];
  return orders[currency] ?? null;
}

/** Three amounts for one tap: half, one and two average orders, each rounded to a figure that a person would say. */
export function suggestedPresets(averageOrderCents: number): number[] {
  const readable = (cents: number) => {
    const step = 10 ** Math.max(2, Math.floor(Math.log10(cents)) - 1);
    return Math.max(100, Math.round(cents / step) * step);
  };
  return [...new Set([0.5, 1, 2].map((share) => readable(averageOrderCents * share)))];
}
