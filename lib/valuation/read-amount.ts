import { currencyDecimals } from "./currencies.ts";
import { type AmountRefusal, centsOfAmount } from "./currency-cents.ts";

/** What one mark before three digits separates: "12.500" is twelve and a half, or twelve thousand five hundred. */
export type MarkMeaning = "decimals" | "thousands";
export type AmountReading = { ok: true; cents: number } | { ok: false; code: AmountRefusal | "AMOUNT_AMBIGUOUS" };

const oneMark = /^(\d+)([.,])(\d{3})$/;

/**
 * Cents of an amount as people write it ("1.250,50 ₺", "1,250.50"). The last of two kinds of marks is the decimal one. One mark before
 * three digits groups thousands, as nobody writes a price in lira with three decimals; but in a currency that has three, both are
 * common: there it is AMOUNT_AMBIGUOUS until somebody says what the mark means. `meaning` holds in every currency: it is what a person
 * said of this amount, or of the file that it stands in.
 */
export function readAmount(text: string, currency: string, meaning?: MarkMeaning): AmountReading {
  const decimals = currencyDecimals(currency);
  if (decimals === null) return { ok: false, code: "CURRENCY_UNKNOWN" };
  const bare = text
    .trim()
    .replace(/^(?:[A-Z]{3}|\p{Sc})|(?:[A-Z]{2,3}|\p{Sc})$/gu, "")
    .replace(/[\s\u00a0\u202f']/g, "");
  if (!/^-?\d[\d.,]*$/.test(bare)) return { ok: false, code: "AMOUNT_NOT_A_NUMBER" };
  const [, before, mark] = oneMark.exec(bare) ?? [];
  const mayGroup = before !== undefined && /^[1-9]\d{0,2}$/.test(before); // 0.500 and 1250.500 are no thousands
  if (mayGroup && decimals > 2 && !meaning) return { ok: false, code: "AMOUNT_AMBIGUOUS" };
  const isDecimal = before?.startsWith("0") || (mayGroup ? meaning === "decimals" : decimals > 2 || meaning === "decimals");
  const plain = plainDecimal(bare, mark ? (isDecimal ? mark : null) : decimalMark(bare));
  return plain === null ? { ok: false, code: "AMOUNT_NOT_A_NUMBER" } : centsOfAmount(plain, currency);
}

/** The decimal mark of an amount that has no, several, or several kinds of marks, or one that is not before three digits. */
function decimalMark(bare: string): string | null {
  const [dot, comma] = [bare.lastIndexOf("."), bare.lastIndexOf(",")];
  if (dot < 0 && comma < 0) return null;
  const last = dot > comma ? "." : ",";
  if (dot >= 0 && comma >= 0) return last;
  return bare.split(last).length > 2 ? null : last;
}

function plainDecimal(bare: string, mark: string | null): string | null {
  const cut = mark === null ? bare.length : bare.lastIndexOf(mark);
  const whole = bare.slice(0, cut);
  const fraction = bare.slice(cut + 1);
  if (!/^-?\d{1,3}(?:([.,])\d{3}(?:\1\d{3})*)?$|^-?\d+$/.test(whole) || /\D/.test(fraction)) return null;
  return `${whole.replace(/[.,]/g, "")}${fraction && `.${fraction}`}`;
}
