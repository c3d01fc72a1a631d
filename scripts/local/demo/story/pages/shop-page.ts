import type { Locale } from "#lib/i18n/locale.ts";
import type { Theme } from "#lib/i18n/theme.ts";
import type { Way } from "../story-notes.ts";
import { Html, html } from "./html.ts";
import { fill, messages } from "./language.ts";
import { framePage } from "./page-frame.ts";

/** Which ad brings the visitor of each shop, and its number: 0500 and 7946 0xxx are nobody's. */
const shops = {
  script: {
    key: "akdere",
    tel: "+905002165501",
    utm: { utm_campaign: "Kombi servisi - Anadolu yakası", utm_term: "kombi servisi kadıköy" },
  },
  api: { key: "harbour", tel: "+442079460101", utm: { utm_campaign: "Private dentist - London", utm_term: "private dentist near me" } },
} as const;

/** As the businesses' own pages are called: the lead's journey shows them. */
export const shopPaths: Record<Way, string> = { script: "/kombi-servisi", api: "/new-patients" };

/** The address behind the ad: Google adds the click id, the advertiser its campaign. */
export function shopUrl(storyUrl: string, way: Way, gclid: string): string {
  const query = new URLSearchParams({ gclid, utm_source: "google", utm_medium: "cpc", ...shops[way].utm });
  return `${storyUrl}${shopPaths[way]}?${query}`;
}

/** The links lead nowhere in the demo: the page says what a phone would do. The tracker's listener runs before this one. */
const script = new Html(`<script>
for (const link of document.querySelectorAll("[data-said]")) link.addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("said").textContent = link.dataset.said;
  const box = document.getElementById("reported");
  box.hidden = false;
  box.focus();
});
</script>`);

export function shopPage({ way, locale, theme, snippet }: { way: Way; locale: Locale; theme: Theme; snippet: string }): string {
  const t = messages[locale].shop;
  const { key, tel, utm } = shops[way];
  const shop = t[key];
  const body = html`<header class="note"><span>${fill(t.note, { term: utm.utm_term })}</span> <a href="/?by=${way}">${t.back}</a></header>
<main><p class="name">${shop.name}</p><h1>${shop.headline}</h1><p>${shop.text}</p>
<p class="deeds"><a class="main" href="tel:${tel}" data-said="${t.calledTitle} ${shop.number}.">${fill(t.call, { number: shop.number })}</a><a class="whatsapp" href="https://wa.me/${tel.slice(1)}" data-said="${t.wroteTitle}.">${t.whatsapp}</a></p>
<div id="reported" class="card" role="status" tabindex="-1" hidden><h2 id="said"></h2><p>${t.reported}</p><p class="deeds"><a class="main" href="/?by=${way}">${t.next}</a></p></div>
<ul class="facts">${shop.facts.map((fact) => html`<li>${fact}</li>`)}</ul></main>${script}`;
  return framePage({ locale, theme, title: shop.name, head: new Html(snippet), className: `shop ${key}`, body });
}
