import { isLeadAction } from "#lib/channels.ts";
import { active, bounded, marketing, reload, scopes } from "./allowed.ts";
import { reportsViews, site } from "./install.ts";
import { firstOnPage, page, referrer, shownPage, turnPage } from "./page.ts";
import { flush, flushSoon, own, post } from "./send.ts";
import { save, stored } from "./store.ts";
import { keepVisit, readAddress } from "./visit.ts";

const queueMax = 200;

/** A second press of the same button within this time is the same call, and must not get a stamp of its own. */
const doubleTapMs = 5e3;
let lastLead: string | undefined;
let lastLeadAt = 0;

/** The id of the newest conversion, which a telephone system can report for the same click. */
export let stamp: string | undefined;

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
  const event = {
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
  };
  own.push(event);
  stored.q = stored.q.concat(event).slice(-queueMax);
  save();
  // A lead is worth a request of its own: the visitor may be gone in a second.
  if (converts) flush();
  else flushSoon(1e3);
}

/** Counts the page that is shown, if it is another than the last one counted. */
export function viewPage(): void {
  const shown = shownPage();
  if (!active || shown === page) return;
  turnPage(shown);
  readAddress();
  track("view", document.title);
  reportView();
}

/**
 * Reports the page that is shown, once, as soon as marketing is granted, if it belongs to the visit that an ad click began. Sent once: a
 * view is a volume signal, and a lost one costs no lead.
 */
export function reportView(): void {
  if (!reportsViews || !marketing || !stored.g || stored.p !== stored.s || !firstOnPage("pv")) return;
  const { cts, ...click } = stored.g;
  post("/api/track/pv", JSON.stringify({ siteId: site, ...click, consent_scopes: scopes, fp: stored.v, t: 0 })).catch(() => {});
}
