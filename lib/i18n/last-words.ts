import type { Locale } from "./locale.ts";

/** For the page that is shown when even the layout failed and no messages are loaded. */
export const lastWords: Record<Locale, { title: string; body: string; retry: string; number: string }> = {
  en: {
    title: "OpsMantik did not load",
    body: "Something went wrong on our side. Your data is safe. Try again; if it stays, tell support.",
    retry: "Try again",
    number: "Tell support this number:",
  },
  tr: {
    title: "OpsMantik açılmadı",
    body: "Bizim tarafımızda bir sorun oldu. Verileriniz güvende. Yeniden deneyin; sürerse destek ekibine yazın.",
    retry: "Yeniden dene",
    number: "Destek ekibine bu numarayı söyleyin:",
  },
};
