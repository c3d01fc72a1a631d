/** Which column of a file means what, by its heading in Turkish or English. */
const names = {
  externalRef: [
    "external_ref",
    "ref",
    "reference",
    "order",
    "order id",
    "order no",
    "invoice",
    "invoice no",
    "id",
    "referans",
    "siparis",
    "siparis no",
    "fis no",
    "fatura",
    "fatura no",
    "no",
  ],
  occurredAt: ["occurred_at", "date", "time", "sold at", "sale date", "tarih", "satis tarihi", "zaman"],
  amount: ["amount", "total", "value", "price", "sum", "tutar", "toplam", "fiyat", "satis tutari"],
  currency: ["currency", "para birimi", "doviz"],
  customerPhone: ["customer_phone", "phone", "phone number", "mobile", "telefon", "telefon no", "cep", "gsm", "musteri telefonu"],
  customerHash: ["customer_hash", "phone hash", "telefon ozeti"],
  emailHash: ["customer_email_hash", "email hash", "e-posta ozeti", "eposta ozeti"],
  gclid: ["gclid", "click id", "tiklama"],
  wbraid: ["wbraid"],
  gbraid: ["gbraid"],
  marketingConsent: ["marketing_consent", "consent", "riza", "onay", "pazarlama izni"],
  note: ["notes", "note", "comment", "not", "aciklama", "is", "hizmet"],
} as const;

export type ImportField = keyof typeof names;
export const requiredFields: readonly ImportField[] = ["externalRef", "occurredAt", "amount"];

/** "Sipariş No" and "siparis_no" are the same words. */
function plain(header: string): string {
  return header
    .toLocaleLowerCase("tr")
    .replaceAll("ı", "i")
    .normalize("NFD")
    .replace(/\p{M}/gu, "")
    .replace(/[\s_.-]+/g, " ")
    .trim();
}

/** The place of each field in a file's first line; a field that no column has is left out. The first column of two wins. */
export function readHeader(header: string[]): Map<ImportField, number> {
  const places = new Map<ImportField, number>();
  const words = header.map(plain);
  for (const [field, spellings] of Object.entries(names) as [ImportField, readonly string[]][]) {
    const wanted = new Set(spellings.map(plain));
    const place = words.findIndex((word) => wanted.has(word));
    if (place >= 0) places.set(field, place);
  }
  return places;
}
