export const conversionKeys = ["seal", "MEETING_BOOKED", "SEAL_PENDING", "INTENT_CAPTURED", "page_view"] as const;

type ConversionNames = Record<(typeof conversionKeys)[number], string>;

/** What conversions are called in Google Ads unless the owner says otherwise. The same text is pasted there, so it never changes by itself. */
const readableNames: Record<"en" | "tr", ConversionNames> = {
  en: {
    seal: "Sealed sale (OpsMantik)",
    MEETING_BOOKED: "Meeting booked (OpsMantik)",
    SEAL_PENDING: "Qualified lead (OpsMantik)",
    INTENT_CAPTURED: "First contact (OpsMantik)",
    page_view: "Ad page view (OpsMantik)",
  },
  tr: {
    seal: "Kesinleşen satış (OpsMantik)",
    MEETING_BOOKED: "Alınan randevu (OpsMantik)",
    SEAL_PENDING: "Nitelikli talep (OpsMantik)",
    INTENT_CAPTURED: "İlk temas (OpsMantik)",
    page_view: "Reklamdan sayfa görüntüleme (OpsMantik)",
  },
};
export const conversionNamesIn = (locale: "en" | "tr"): ConversionNames => readableNames[locale];
