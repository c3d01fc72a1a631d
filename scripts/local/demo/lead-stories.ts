/** What the demo's leads are about: the texts, prices and places of two believable businesses. */
export interface LeadStory {
  /** Hours of the day, in UTC, in which people reach out. */
  hours: [first: number, last: number];
  leadsPerDay: number;
  country: string;
  cities: string[];
  ads: { campaign: string; term: string; page: string }[];
  organicPages: string[];
  phone: (digits: string) => string;
  /** What is sold, how often out of 100, and for what. The last one is rare and dear. */
  jobs: { note: string; share: number; amountCents: number }[];
  junkReasons: string[];
  correctionReason: string;
  cancelReason: string;
  averageOrderCents: number;
}

const kombi: LeadStory = {
  hours: [5, 19],
  leadsPerDay: 6,
  country: "TR",
  cities: ["İstanbul", "İstanbul", "İstanbul", "Kocaeli", "Gebze"],
  ads: [
    { campaign: "Kombi servisi - Anadolu yakası", term: "kombi servisi kadıköy", page: "/kombi-servisi" },
    { campaign: "Kombi servisi - Anadolu yakası", term: "acil kombi tamiri", page: "/acil-servis" },
    { campaign: "Kombi bakım - Kış", term: "kombi bakım fiyatları", page: "/kombi-bakimi" },
    { campaign: "Kombi bakım - Kış", term: "petek temizliği ataşehir", page: "/petek-temizligi" },
    { campaign: "Yeni kombi", term: "yoğuşmalı kombi montaj fiyatı", page: "/kombi-montaji" },
  ],
  organicPages: ["/", "/blog/kombi-neden-su-akitir", "/iletisim"],
  phone: (digits) => `+90500${digits}`, // 0500 is nobody's prefix
  jobs: [
    { note: "Bakım", share: 46, amountCents: 125_000 },
    { note: "Petek temizliği", share: 26, amountCents: 240_000 },
    { note: "Onarım", share: 20, amountCents: 425_000 },
    { note: "Yeni kombi montajı", share: 8, amountCents: 1_890_000 },
  ],
  junkReasons: ["Yanlış numara", "Satıcı aradı", "Yetki belgesi soruyor, müşteri değil", "Bölge dışı"],
  correctionReason: "Parça sonradan eklendi",
  cancelReason: "Müşteri vazgeçti",
  averageOrderCents: 310_000,
};

const dental: LeadStory = {
  hours: [8, 18],
  leadsPerDay: 3.5,
  country: "GB",
  cities: ["London", "London", "Croydon", "Bromley", "Richmond"],
  ads: [
    { campaign: "Private dentist - London", term: "private dentist near me", page: "/new-patients" },
    { campaign: "Private dentist - London", term: "emergency dentist london", page: "/emergency" },
    { campaign: "Whitening - Spring offer", term: "teeth whitening cost", page: "/whitening" },
    { campaign: "Implants", term: "dental implants london price", page: "/implants" },
  ],
  organicPages: ["/", "/team", "/contact"],
  phone: (digits) => `+447700900${digits.slice(0, 3)}`, // Ofcom keeps this range for fiction
  jobs: [
    { note: "Check-up and hygiene", share: 48, amountCents: 9_500 },
    { note: "Whitening", share: 26, amountCents: 29_500 },
    { note: "Crown", share: 18, amountCents: 65_000 },
    { note: "Implant", share: 8, amountCents: 235_000 },
  ],
  junkReasons: ["Wrong number", "Sales call", "Looking for an NHS dentist", "Job applicant"],
  correctionReason: "X-ray added on the day",
  cancelReason: "Did not come, deposit returned",
  averageOrderCents: 28_000,
};

/** In the order of the demo's sites. */
export const leadStories = [kombi, dental];
