/**
 * An amount as people write it, in units of the currency, to plain decimal text ("1.250,50 ₺" and "1,250.50" both to "1250.50").
 * The last of two kinds of separators is the decimal one. A single one before exactly three digits groups thousands: nobody
 * writes a price with three decimals. Null for anything else.
 */
export function readAmount(text: string): string | null {
  const bare = text
    .trim()
    .replace(/^(?:[A-Z]{3}|\p{Sc})\s*|\s*(?:[A-Z]{2,3}|\p{Sc})$/gu, "")
    .replace(/[\s\u00a0\u202f']/g, "");
  if (!/^-?\d[\d.,]*$/.test(bare)) return null;
  const decimal = decimalSeparator(bare);
  const cut = decimal === null ? bare.length : bare.lastIndexOf(decimal);
  const whole = bare.slice(0, cut);
  const fraction = bare.slice(cut + 1);
  if (!/^-?\d{1,3}(?:([.,])\d{3}(?:\1\d{3})*)?$|^-?\d+$/.test(whole) || /\D/.test(fraction)) return null;
  return `${whole.replace(/[.,]/g, "")}${fraction && `.${fraction}`}`;
}

function decimalSeparator(bare: string): "." | "," | null {
  const [dot, comma] = [bare.lastIndexOf("."), bare.lastIndexOf(",")];
  if (dot < 0 && comma < 0) return null;
  const last = dot > comma ? "." : ",";
  if (dot >= 0 && comma >= 0) return last;
  const groups = bare.split(last).length > 2 || /[.,]\d{3}$/.test(bare);
  return groups ? null : last;
}
