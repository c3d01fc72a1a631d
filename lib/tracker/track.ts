import { isLeadAction } from "#lib/channels.ts";
import { active, marketing, reload, scopes } from "./consent.ts";
import { flush, flushSoon } from "./send.ts";
import { save, stored } from "./store.ts";
import { page, referrer, viewPage } from "./view.ts";
import { keepVisit } from "./visit.ts";

/** One event as the server takes it; `t` is when it happened and becomes its age in milliseconds when it is sent. */
export interface TrackedEvent {
  eid: string;
  t: number;
  sid: string | undefined;
  u: string;
  r: string;
  ec: string;
  ea: string;
  el: string;
  ev: number;
  meta: Record<string, unknown>;
  consent_scopes: string[] | undefined;
}

const queueMax = 200;

/** A second press of the same button within this time is the same call, and must not get a stamp of its own. */
const doubleTapMs = 5e3;
let lastLead: string | undefined;
let lastLeadAt = 0;

/** The id of the newest conversion, which a telephone system can report for the same click. */
export let stamp: string | undefined;

/** Ad click ids are marketing data wherever they stand: in addresses, and in events written as JSON. */
export function withoutClicks(text: string): string {
  return text.replace(/(clid|braid)(=|%3D|":")[^&#%"]*/gi, "$1$2");
}

export function bounded(url: string): string {
  return (marketing ? url : withoutClicks(url)).slice(0, 2048);
}

export function track(ea: string, el?: unknown, ev?: number): void {
  viewPage();
  if (!active || !reload()) return;
  const eid = crypto.randomUUID();
  const converts = isLeadAction(ea);
  if (converts) {
    const lead = ea + el + page;
    if (lead === lastLead && Date.now() - lastLeadAt < doubleTapMs) return;
    lastLead = lead;
    lastLeadAt = Date.now();
    stamp = eid;
  }
  keepVisit();
  const { cts, ...click } = (marketing && stored.g) || ({} as Record<string, unknown>);
  stored.q = [
    ...stored.q,
    {
      eid,
      t: stored.a as number,
      sid: stored.s,
      u: bounded(page),
      r: bounded(referrer),
      ec: converts ? "conversion" : "interaction",
      ea,
      el: `${el || ""}`.slice(0, 255),
      // No number becomes null in JSON.
      ev: +(ev as number),
      meta: {
        fp: stored.v,
        ...stored.m,
        ...click,
        sw: screen.width,
        sh: screen.height,
        lan: navigator.language,
        intent_stamp: converts ? eid : undefined,
      },
      consent_scopes: scopes,
    },
  ].slice(-queueMax);
  save();
  // A lead is worth a request of its own: the visitor may be gone in a second.
  if (converts) flush();
  else flushSoon(1e3);
}
