import type { Locale } from "#lib/i18n/locale.ts";
import type { Theme } from "#lib/i18n/theme.ts";
import type { BookEntry } from "../trace-lead.ts";
import { html } from "./html.ts";
import { fill, formatsOf, messages } from "./language.ts";
import { framePage } from "./page-frame.ts";

interface Books {
  locale: Locale;
  theme: Theme;
  conversions: BookEntry[];
  /** The one that the reader came for. */
  orderId: string;
}

const shownMax = 30;

/** What the simulated Google counts, the newest first. */
export function booksPage({ locale, theme, conversions, orderId }: Books): string {
  const t = messages[locale].books;
  const ways: Record<string, string> = t.ways;
  const { money, time } = formatsOf(locale, "Europe/Istanbul");
  const newest = conversions.slice(-shownMax).reverse();
  const wanted = conversions.find((one) => one.orderId === orderId);
  const shown = wanted ? [wanted, ...newest.filter((one) => one !== wanted)] : newest;
  const body = html`<main class="books"><p><a href="/">${messages[locale].shop.back}</a></p><h1>${t.title}</h1><p>${fill(t.lead, { count: conversions.length, shown: shown.length })}</p>
<div class="scroll" role="region" aria-label="${t.title}" tabindex="0"><table><thead><tr><th scope="col">${t.order}</th><th scope="col">${t.value}</th><th scope="col">${t.time}</th><th scope="col">${t.via}</th><th scope="col">${t.sends}</th></tr></thead><tbody>${shown.map(
    (one) =>
      html`<tr${one === wanted && html` class="wanted"`}><th scope="row">${one.orderId}</th><td>${one.isRetracted ? t.retracted : money(one.value, one.currency)}</td><td>${one.conversionTime.slice(0, 10)} ${time(new Date(one.conversionTime))}</td><td>${ways[one.via] ?? one.via}</td><td>${one.sends}</td></tr>`,
  )}</tbody></table></div></main>`;
  return framePage({ locale, theme, title: t.title, className: "story", body });
}
