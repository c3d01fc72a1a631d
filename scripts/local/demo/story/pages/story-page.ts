import type { Locale } from "#lib/i18n/locale.ts";
import { localeNames, locales } from "#lib/i18n/locale.ts";
import type { Theme } from "#lib/i18n/theme.ts";
import type { Happening } from "../others/lead-stream.ts";
import { type TroubleName, troubleNames } from "../others/troubles.ts";
import { type Way, ways } from "../story-notes.ts";
import { Html, html } from "./html.ts";
import { fill, formatsOf, messages } from "./language.ts";
import { brandMark, framePage } from "./page-frame.ts";
import type { Stop, StopLink } from "./stops.ts";

export interface TroubleNow {
  siteId: string;
  rowId: string | null;
  status: string | null;
  verdict: string | null;
}

export interface StoryView {
  locale: Locale;
  theme: Theme;
  way: Way;
  stops: Stop[];
  shops: Record<Way, string>;
  siteNames: Map<string, { name: string; currency: string; timeZone: string }>;
  /** Of the shop in the story: all times on the page are its. */
  timeZone: string;
  isStreaming: boolean;
  happenings: Happening[];
  troubles: Partial<Record<TroubleName, TroubleNow>>;
  baseUrl: string;
  mailUrl: string;
  users: { email: string; password: string; role: "owner" | "operator" | "viewer" }[];
}

/** Pages of the product open beside the story, always in the same tab, signed in. */
const inProduct = (to: string) => html`href="/enter?to=${encodeURIComponent(to)}" target="opsmantik"`;
const address = (to: string) => (to.startsWith("/dashboard") ? inProduct(to) : html`href="${to}"`);

/** The parts that change while the page is open, each by the id of its element. */
export function liveParts(view: StoryView): Record<string, string> {
  const { stops } = view;
  const parts: [string, Html][] = [
    ["progress", progress(view)],
    ...stops.map((stop, index): [string, Html] => [`stop-${stop.name}`, stopBody(view.locale, stop, index)]),
    ["stream", stream(view)],
    ["troubles", troubles(view)],
  ];
  return Object.fromEntries(parts.map(([id, { text }]) => [id, text]));
}

/** Asks for the live parts and puts in those that changed; a link or button that had the focus keeps it. */
const script = new Html(`<script>
const ask = async () => {
  if (!document.hidden) try {
    const parts = await (await fetch("/live" + location.search)).json();
    for (const [id, text] of Object.entries(parts)) {
      const part = document.getElementById(id);
      if (!part || part.dataset.text === text || (part.dataset.text === undefined && part.innerHTML === text)) continue;
      const held = part.contains(document.activeElement) && document.activeElement.id;
      part.innerHTML = text;
      part.dataset.text = text;
      const state = part.querySelector("[data-state]")?.dataset.state;
      if (part.tagName === "LI") {
        part.dataset.state = state;
        part.setAttribute("aria-current", state === "now" ? "step" : "false");
      }
      if (held) document.getElementById(held)?.focus();
    }
  } catch {}
  setTimeout(ask, 1000);
};
setTimeout(ask, 1000);
</script>`);

export function storyPage(view: StoryView): string {
  const { locale, theme, way, stops, shops } = view;
  const t = messages[locale];
  const body = html`<a class="skip" href="#story">${t.skip}</a>
<header><span class="brand">${brandMark} OpsMantik</span><nav class="languages" aria-label="${t.language}">${locales.map(
    (one) =>
      html`<a href="/?by=${way}&amp;lang=${one}" lang="${one}" hreflang="${one}"${one === locale && html` aria-current="true"`}>${localeNames[one]}</a>`,
  )}</nav></header>
<main>
<div class="intro"><h1>${t.title}</h1><p>${t.lead}</p></div>
<nav class="ways" aria-label="${t.ways}">${ways.map(
    (one) =>
      html`<a href="/?by=${one}"${one === way && html` aria-current="page"`}><strong>${t.way[one]}</strong><span>${shops[one]}</span></a>`,
  )}</nav>
<div class="columns">
<section id="story" aria-label="${t.title}" tabindex="-1">
<div id="progress" role="status" class="progress">${progress(view)}</div>
<ol class="stops">${stops.map(
    (stop, index) =>
      html`<li id="stop-${stop.name}" data-state="${stop.state}"${stop.state === "now" && html` aria-current="step"`}>${stopBody(locale, stop, index)}</li>`,
  )}</ol>
<form method="post" action="/again?by=${way}"><button class="quiet">${t.again}</button></form>
</section>
<div class="aside">
<section id="stream" class="card">${stream(view)}</section>
<section id="troubles" class="card">${troubles(view)}</section>
<section class="card"><h2>${t.quick.title}</h2><p>${t.quick.text}</p></section>
${lookAround(view)}
</div>
</div>
</main>${script}`;
  return framePage({ locale, theme, title: `${t.title} · OpsMantik`, className: "story", body });
}

function progress({ locale, stops }: StoryView): Html {
  const t = messages[locale];
  const done = stops.filter(({ state }) => state === "done").length;
  const next = stops.find(({ state }) => state !== "done");
  const said = next ? html`<a id="next" href="#stop-${next.name}">${t.next}: ${next.title}</a>` : html`<strong>${t.finished}</strong>`;
  return html`<span class="bar" aria-hidden="true">${stops.map(({ state }) => html`<i data-state="${state}"></i>`)}</span><span>${said} <small>${fill(t.progress, { done, all: stops.length })}</small></span>`;
}

function stopBody(locale: Locale, { name, title, state, text, ids, links, deed }: Stop, index: number): Html {
  const t = messages[locale];
  const isFirst = state === "now" || state === "trouble";
  return html`<span class="mark" data-state="${state}" aria-hidden="true">${state === "done" ? "✓" : index + 1}</span>
<div><h2>${title}</h2>${state === "later" ? null : html`<p>${text}</p>`}${
    ids.length > 0 && state !== "later"
      ? html`<dl aria-label="${t.ids}">${ids.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>`
      : null
  }${
    links.length > 0 || deed
      ? html`<p class="deeds">${deed && html`<button id="deed-${name}" form="deeds" formaction="${deed.path}" class="main">${deed.text}</button>`}${links.map((link, place) => stopLink(link, `link-${name}-${place}`, isFirst && !deed && place === 0))}</p>`
      : null
  }</div>`;
}

const stopLink = ({ text, to }: StopLink, id: string, isMain: boolean) =>
  html`<a id="${id}" class="${isMain ? "main" : "quiet"}" ${address(to)}>${text}</a>`;

function stream({ locale, isStreaming, happenings, siteNames, timeZone }: StoryView): Html {
  const t = messages[locale];
  const channels = { phone_call: t.channel.phone, whatsapp: t.channel.whatsapp, form_submit: t.channel.form };
  const { time, money } = formatsOf(locale, timeZone);
  const lines = happenings.map(({ at, siteId, kind, action, amountCents = 0 }) => {
    const site = siteNames.get(siteId);
    const amount = money(amountCents / 100, site?.currency ?? "TRY");
    const said = fill(t.stream[kind], { channel: channels[action], site: site?.name ?? "", amount });
    return html`<li><time>${time(at)}</time> <a ${inProduct(`/dashboard/site/${siteId}`)}>${said}</a></li>`;
  });
  return html`<h2>${t.stream.title}</h2><p>${isStreaming ? t.stream.on : t.stream.off}</p>
${isStreaming && happenings.length === 0 ? html`<p class="meta">${t.stream.none}</p>` : html`<ul class="happenings">${lines}</ul>`}
<p class="deeds"><button id="leads" form="deeds" formaction="/leads?on=${isStreaming ? 0 : 1}" class="quiet">${isStreaming ? t.stream.turnOff : t.stream.turnOn}</button></p>`;
}

function troubles({ locale, troubles: played }: StoryView): Html {
  const t = messages[locale].troubles;
  const states: Record<string, string> = t.state;
  const verdicts: Record<string, string> = t.verdict;
  return html`<h2>${t.title}</h2><p>${t.lead}</p><ul class="troubles">${troubleNames.map((name) => {
    const now = played[name];
    const state = now?.status ? (verdicts[now.verdict ?? ""] ?? states[now.status] ?? now.status) : t.waiting;
    return html`<li><h3>${t[name].title} <span class="badge">${state}</span></h3><p>${t[name].text}</p>${
      now?.rowId
        ? html`<p class="deeds"><a id="look-${name}" class="quiet" ${inProduct(`/dashboard/site/${now.siteId}/oci-control?row=${now.rowId}`)}>${t.look}</a><button id="play-${name}" form="deeds" formaction="/troubles?name=${name}" class="plain">${t.again}</button></p>`
        : null
    }</li>`;
  })}</ul>`;
}

function lookAround({ locale, baseUrl, mailUrl, users, way }: StoryView): Html {
  const t = messages[locale].more;
  return html`<section class="card"><h2>${t.title}</h2><ul class="links"><li><a ${inProduct("/dashboard")}>${t.app}</a> <small>${baseUrl}</small></li><li><a href="${mailUrl}" target="_blank">${t.mail}</a></li><li><a href="/google">${t.google}</a></li></ul>
<p>${fill(t.signIn, { password: users[0]?.password ?? "" })}</p><ul class="links">${users.map(({ email, role }) => html`<li>${email} <small>${t.role[role]}</small></li>`)}</ul></section>
<form id="deeds" method="post" action="/?by=${way}"><input type="hidden" name="by" value="${way}"></form>`;
}
