import type { Locale } from "#lib/i18n/locale.ts";
import type { SiteId } from "#lib/site.ts";
import { scriptEveryMinutes } from "../others/script-runner.ts";
import type { Way } from "../story-notes.ts";
import type { Trace } from "../trace-lead.ts";
import { fill, formatsOf, messages } from "./language.ts";

export interface StopLink {
  text: string;
  /** In the product; with http, elsewhere. */
  to: string;
}

/** One station of the story: what to do there, or what just happened. */
export interface Stop {
  name: string;
  title: string;
  state: "done" | "now" | "later" | "trouble";
  text: string;
  ids: [label: string, value: string][];
  links: StopLink[];
  /** A button that does something in the demo. */
  deed?: { text: string; path: string };
}

export interface StoryFacts {
  way: Way;
  siteId: SiteId;
  timeZone: string;
  gclid: string;
  shopUrl: string;
  trace: Trace;
}

type Told = Omit<Stop, "name" | "state"> & { isDone: boolean; isTrouble?: boolean };

/** The seven stations in order. The first one that is not done is where the reader stands. */
export function tellStops(locale: Locale, facts: StoryFacts): Stop[] {
  const told: Record<string, Told> = {
    shop: shop(locale, facts),
    lead: lead(locale, facts),
    seal: seal(locale, facts),
    queue: queue(locale, facts),
    send: send(locale, facts),
    google: google(locale, facts),
    proof: proof(locale, facts),
  };
  const entries = Object.entries(told);
  const now = entries.findIndex(([, { isDone }]) => !isDone);
  return entries.map(([name, { isDone, isTrouble, ...stop }], index) => ({
    name,
    ...stop,
    state: isDone ? "done" : isTrouble ? "trouble" : index === now ? "now" : "later",
    links: isDone || index === now ? stop.links : [],
  }));
}

const leadPath = ({ siteId, trace }: StoryFacts) => `/dashboard/site/${siteId}?lead=${trace.lead?.id}`;
const rowPath = ({ siteId, trace }: StoryFacts) => `/dashboard/site/${siteId}/oci-control?row=${trace.row?.id}`;

function shop(locale: Locale, { trace: { visit, lead: tapped }, timeZone, gclid, shopUrl }: StoryFacts): Told {
  const t = messages[locale];
  const { time } = formatsOf(locale, timeZone);
  const channels: Record<string, string> = t.channel;
  return {
    title: t.stops.shop.title,
    isDone: tapped !== null,
    text: tapped
      ? fill(t.stops.shop.done, { channel: channels[tapped.channel] ?? tapped.channel, time: time(tapped.at) })
      : visit
        ? t.stops.shop.half
        : t.stops.shop.todo,
    ids: [[t.id.click, gclid], ...(tapped ? [[t.id.event, tapped.eventId] as [string, string]] : [])],
    links: tapped ? [] : [{ text: t.stops.shop.open, to: shopUrl }],
  };
}

function lead(locale: Locale, facts: StoryFacts): Told {
  const t = messages[locale];
  const { visit, lead: stored } = facts.trace;
  const ad =
    visit?.campaign && visit.term ? fill(t.stops.lead.done, { campaign: visit.campaign, term: visit.term }) : t.stops.lead.doneDirect;
  return {
    title: t.stops.lead.title,
    isDone: stored !== null,
    text: stored ? ad : t.stops.lead.todo,
    ids: stored ? [[t.id.lead, stored.id]] : [],
    links: stored ? [{ text: t.stops.lead.open, to: leadPath(facts) }] : [],
  };
}

function seal(locale: Locale, facts: StoryFacts): Told {
  const t = messages[locale];
  const { money, time } = formatsOf(locale, facts.timeZone);
  const { lead: stored, sale } = facts.trace;
  const { stops } = t;
  return {
    title: stops.seal.title,
    isDone: sale !== null,
    text: sale
      ? fill(stops.seal.done, {
          who: sale.by ?? stops.seal.someone,
          amount: money(sale.amountCents / 100, sale.currency),
          time: time(sale.at),
        })
      : stored?.status === "junk" || stored?.status === "cancelled"
        ? stops.seal.todoJunk
        : stops.seal.todo,
    ids: sale
      ? [
          [t.id.sale, sale.id],
          [t.id.order, sale.orderId],
        ]
      : [],
    links: stored && !sale ? [{ text: stops.seal.open, to: leadPath(facts) }] : [],
  };
}

function queue(locale: Locale, facts: StoryFacts): Told {
  const t = messages[locale];
  const { row } = facts.trace;
  return {
    title: t.stops.queue.title,
    isDone: row !== null,
    text: row ? t.stops.queue.done : t.stops.queue.todo,
    ids: row ? [[t.id.row, row.id]] : [],
    links: row ? [{ text: t.stops.queue.open, to: rowPath(facts) }] : [],
  };
}

function send(locale: Locale, facts: StoryFacts): Told {
  const t = messages[locale];
  const { time } = formatsOf(locale, facts.timeZone);
  const { way, trace } = facts;
  const { row, dispatch } = trace;
  const texts = t.stops.send;
  const isTrouble = row !== null && dispatch === null && ["RETRY", "FAILED"].includes(row.status);
  const waiting = () => {
    if (!row) return texts.todo;
    if (isTrouble) return fill(texts.trouble, { code: row.errorCode ?? row.status });
    if (row.notBefore.getTime() > Date.now()) return fill(texts.later, { time: time(row.notBefore) });
    return fill(texts.ready[way], { minutes: scriptEveryMinutes });
  };
  return {
    title: texts.title[way],
    isDone: dispatch !== null,
    isTrouble,
    text: dispatch ? fill(texts.done[way], { time: time(dispatch.at) }) : waiting(),
    ids: dispatch ? [[t.id.dispatch, dispatch.id]] : [],
    links: row ? [{ text: texts.open, to: rowPath(facts) }] : [],
    ...(way === "script" && row && !dispatch && { deed: { text: texts.run, path: "/script" } }),
  };
}

/** A script's upload is counted when Google's books have it: Google gives no verdict on those. */
function google(locale: Locale, facts: StoryFacts): Told {
  const t = messages[locale];
  const { money, time } = formatsOf(locale, facts.timeZone);
  const { way, trace } = facts;
  const { dispatch, counted } = trace;
  const texts = t.stops.google;
  const isDone = counted !== null && (way === "script" || dispatch?.verdict === "CONFIRMED");
  const isTrouble = !isDone && Boolean(dispatch?.verdict);
  const done = () =>
    fill(texts.done[way], {
      value: counted ? money(counted.value, counted.currency) : "",
      time: dispatch?.verdictAt ? time(dispatch.verdictAt) : "",
    });
  const waiting = dispatch ? texts.ready[way] : texts.todo;
  return {
    title: texts.title[way],
    isDone,
    isTrouble,
    text: isDone ? done() : isTrouble ? fill(texts.refused, { verdict: dispatch?.verdict ?? "" }) : waiting,
    ids: [],
    links: [
      ...(dispatch ? [{ text: t.stops.send.open, to: rowPath(facts) }] : []),
      { text: texts.open, to: `/google?order=${trace.sale?.orderId ?? ""}` },
    ],
  };
}

function proof(locale: Locale, facts: StoryFacts): Told {
  const t = messages[locale];
  const { trace, siteId } = facts;
  const isDone = google(locale, facts).isDone && trace.proof !== null;
  const texts = t.stops.proof;
  return {
    title: texts.title,
    isDone,
    text: isDone ? fill(texts.done, { events: trace.visit?.events ?? 0 }) : texts.todo,
    ids: isDone && trace.proof ? [[t.id.proof, trace.proof.id]] : [],
    links: isDone
      ? [
          { text: texts.journey, to: leadPath(facts) },
          { text: texts.open, to: `/dashboard/proofs/${trace.proof?.id}` },
          { text: texts.bill, to: `/dashboard/site/${siteId}/billing` },
        ]
      : [],
  };
}
