const amountMaxCents = 100_000_000_000;

/**
 * Cents of an amount as a person writes it, in either country's manner: 4250, 4.250,50, 4,250.5, ₺4 250. The last mark is the decimal
 * mark only when one or two digits follow it: three digits after a mark are thousands. Null when it is no amount above zero.
 */
export function parseAmount(text: string): number | null {
  const bare = text.replace(/[\s\u00a0₺€$£]/g, "");
  const match = bare.match(/^(\d[\d.,]*?)(?:[.,](\d{1,2}))?$/);
  if (!match) return null;
  const [, whole = "", fraction = ""] = match;
  if (!/^\d+$|^\d{1,3}([.,]\d{3})+$/.test(whole)) return null;
  const cents = Number(whole.replace(/[.,]/g, "")) * 100 + Number(fraction.padEnd(2, "0"));
  return Number.isSafeInteger(cents) && cents > 0 && cents <= amountMaxCents ? cents : null;
}
