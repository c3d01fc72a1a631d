import { type CapturedEvent, cleaned, type WireEvent } from "./event-shape.ts";
import { type RequestOrigin, requestOrigin } from "./request-origin.ts";
import type { IngestSite } from "./site-cache.ts";
import { holdsMail, storedAddress } from "./stored-address.ts";

const utmKeys = ["source", "medium", "campaign", "content", "term"] as const;

/** What the platform says about the request itself. The address is not kept, only its range. */
export interface RequestFacts extends RequestOrigin {
  device: string | null;
  country: string | null;
  city: string | null;
  trackerVersion: number | null;
}

function decoded(text: string | null): string | null {
  if (!text) return null;
  try {
    return cleaned(decodeURIComponent(text), 100) || null;
  } catch {
    return null;
  }
}

export function requestFacts(headers: Headers, trackerVersion: number | null = null): RequestFacts {
  const agent = headers.get("user-agent") ?? "";
  return {
    device: /iPad|Tablet/i.test(agent) ? "tablet" : /Mobi|Android|iPhone/i.test(agent) ? "mobile" : agent ? "desktop" : null,
    country: headers.get("x-vercel-ip-country")?.slice(0, 2) ?? null,
    city: decoded(headers.get("x-vercel-ip-city")),
    trackerVersion,
    ...requestOrigin(headers),
  };
}

/** The event's visitor: the first-party id, else the session, else the event itself; null when it names none. */
export function visitorOf({ meta, sid, eid }: WireEvent): string | null {
  return meta.fp ?? sid ?? eid;
}

/** The scopes that an event carries, on top or in its meta. */
export function scopesOf({ consent_scopes, meta }: WireEvent): string[] | undefined {
  return consent_scopes ?? meta.consent_scopes;
}

/** Actions whose label is a telephone number. */
const numberActions = new Set(["phone_call", "whatsapp", "hover_intent"]);

/** From the wire to what is stored. Without marketing consent click ids and number are removed before anything is stored. */
export function captureEvent(event: WireEvent, site: IngestSite, facts: RequestFacts): Omit<CapturedEvent, "visitor"> {
  const scopes = scopesOf(event);
  const { marketing } = consentOf(scopes, site.consentMode);
  const utm: Record<string, string> = {};
  for (const key of utmKeys) {
    const value = event.meta[`utm_${key}`];
    if (value && !holdsMail(value)) utm[key] = value;
  }
  const isCall = event.ec === "conversion";
  const isPhone = event.ea === "phone_call";
  return {
    category: event.ec,
    action: event.ea,
    label: isPhone || (!marketing && numberActions.has(event.ea)) ? null : event.el,
    value: event.ev,
    url: storedAddress(event.url) ?? "",
    referrer: event.r && storedAddress(event.r),
    device: event.meta.device ?? facts.device,
    country: facts.country,
    city: facts.city,
    utm,
    gclid: marketing ? event.meta.gclid : null,
    wbraid: marketing ? event.meta.wbraid : null,
    gbraid: marketing ? event.meta.gbraid : null,
    ageMs: event.t,
    scopes: scopes ?? null,
    trackerVersion: facts.trackerVersion,
    reporter: "tracker",
    marketingConsent: marketing,
    marketingDefault: marketing,
    intentStamp: isCall ? (event.meta.intent_stamp ?? event.eid) : null,
    phone: null, // a `tel:` link has the site's own number, not the caller's
    network: facts.network,
    browser: facts.browser,
  };
}

interface Consent {
  /** Whether the event may be stored at all. */
  analytics: boolean;
  /** Whether it may ever reach Google. Without it no click id and no phone number is kept. */
  marketing: boolean;
}

/** A site without a consent manager sends no scopes and vouches for both; scopes that are sent always count. */
export function consentOf(scopes: readonly string[] | undefined, mode: IngestSite["consentMode"]): Consent {
  if (!scopes) return { analytics: mode === "off", marketing: mode === "off" };
  return { analytics: scopes.includes("analytics"), marketing: scopes.includes("marketing") };
}
