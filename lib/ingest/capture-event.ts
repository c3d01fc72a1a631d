import type { CapturedEvent } from "./captured-event.ts";
import { consentOf } from "./consent.ts";
import type { WireEvent } from "./event-shape.ts";
import type { IngestSite } from "./site-cache.ts";

const utmKeys = ["source", "medium", "campaign", "content", "term"] as const;

/** What the platform says about the request itself. The address is not kept. */
export interface RequestFacts {
  device: string | null;
  country: string | null;
  city: string | null;
}

function decoded(text: string | null): string | null {
  if (!text) return null;
  try {
    return decodeURIComponent(text).slice(0, 100);
  } catch {
    return null;
  }
}

export function requestFacts(headers: Headers): RequestFacts {
  const agent = headers.get("user-agent") ?? "";
  return {
    device: /iPad|Tablet/i.test(agent) ? "tablet" : /Mobi|Android|iPhone/i.test(agent) ? "mobile" : agent ? "desktop" : null,
    country: headers.get("x-vercel-ip-country")?.slice(0, 2) ?? null,
    city: decoded(headers.get("x-vercel-ip-city")),
  };
}

/** Actions whose label is a telephone number. */
const numberActions = new Set(["phone_call", "whatsapp", "hover_intent"]);

/** Ad click ids are marketing data wherever they stand. */
function withoutClickIds(address: string): string {
  return address.replace(/(\w*clid|[gw]braid)(=|%3D)[^&#%]*/gi, "$1$2");
}

/** From the wire to what is kept. Without marketing consent the click ids and the number are gone before anything is stored. */
export function captureEvent(event: WireEvent, site: IngestSite, facts: RequestFacts): CapturedEvent {
  const { marketing } = consentOf(event.consent_scopes ?? event.meta.consent_scopes, site.consentMode);
  const utm: Record<string, string> = {};
  for (const key of utmKeys) {
    const value = event.meta[`utm_${key}`];
    if (value) utm[key] = value;
  }
  const isCall = event.ec === "conversion";
  const isPhone = event.ea === "phone_call";
  return {
    visitor: event.meta.fp ?? event.sid ?? event.eid ?? "unknown",
    category: event.ec,
    action: event.ea,
    label: isPhone || (!marketing && numberActions.has(event.ea)) ? null : event.el,
    value: event.ev,
    url: marketing ? event.url : withoutClickIds(event.url),
    referrer: marketing || event.r === null ? event.r : withoutClickIds(event.r),
    device: event.meta.device ?? facts.device,
    country: facts.country,
    city: facts.city,
    utm,
    gclid: marketing ? event.meta.gclid : null,
    wbraid: marketing ? event.meta.wbraid : null,
    gbraid: marketing ? event.meta.gbraid : null,
    clickFirstSeenMs: marketing ? event.meta.cts : null,
    marketingConsent: marketing,
    marketingDefault: marketing,
    intentStamp: isCall ? (event.meta.intent_stamp ?? event.eid) : null,
    phone: null, // a click on a `tel:` link tells which number was called, the site's own, and not who calls
  };
}
