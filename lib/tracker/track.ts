import { active, mayMarket, scopes } from "./consent.ts";
import { flush, flushSoon } from "./send.ts";
import { change } from "./store.ts";
import { page, referrer, viewPage } from "./view.ts";
import { keepClick, keepSession, uuid } from "./visit.ts";

/** One event as the server takes it; `t` is when it happened and becomes its age in milliseconds when it is sent. */
export interface TrackedEvent {
  eid: string;
  t: number;
  sid: string | undefined;
  u: string;
  r: string;
  ec: string;
  ea: string;
  el: string | undefined;
  ev: number | string | undefined;
  meta: Record<string, unknown>;
  consent_scopes: string[] | undefined;
}

const queueMax = 200;
const conversion = /^(phone_call|whatsapp|form_submit)$/;

/** The id of the newest conversion, which a telephone system can report for the same click. */
export let stamp: string | undefined;

/** Ad click ids are marketing data wherever they stand. */
function allowedUrl(url: string, max: number): string {
  return (mayMarket() ? url : url.replace(/(\w*clid|[gw]braid)(=|%3D)[^&#%]*/gi, "$1$2")).slice(0, max);
}

export function record(ea: string, el?: string, ev?: number | string): string {
  const now = Date.now();
  const eid = uuid();
  const converts = conversion.test(ea);
  if (converts) stamp = eid;
  change((state) => {
    keepSession(state, now);
    if (mayMarket()) keepClick(state, now);
    state.q = [
      ...state.q,
      {
        eid,
        t: now,
        sid: state.s,
        u: allowedUrl(page as string, 4096),
        r: allowedUrl(referrer, 2048),
        ec: converts ? "conversion" : "interaction",
        ea,
        el: el?.slice(0, 255),
        ev,
        meta: {
          fp: state.v,
          ...state.m,
          ...(mayMarket() && state.g),
          sw: screen.width,
          sh: screen.height,
          lan: navigator.language,
          intent_stamp: converts ? eid : undefined,
        },
        consent_scopes: scopes,
      },
    ].slice(-queueMax);
  });
  // A lead is worth a request of its own: the visitor may be gone in a second.
  if (converts) flush();
  else flushSoon(1e3);
  return eid;
}

/** Records an event of the page that is shown now. */
export function track(ea: string, el?: string, ev?: number | string): string | undefined {
  viewPage();
  return active ? record(ea, el, ev) : undefined;
}
