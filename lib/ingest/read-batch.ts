import { z } from "zod";
import { AppError } from "#lib/platform/app-error.ts";
import { type SiteId, siteIdShape } from "#lib/site.ts";
import { age, eventsPerRequestMax, optional, scopes, visitorsId } from "./event-shape.ts";

/** The codes a client of /api/sync may meet in a 400 or 429; they never change. */
type RefusalCode =
  | "invalid_json"
  | "payload_not_object"
  | "missing_site_or_url"
  | "missing_visitor"
  | "events_empty"
  | "batch_mixed_sites"
  | "site_not_found";

/** A refusal in the shape trackers know: `{ok: false, error, code}`, and the code in a header. */
export function refusal(code: RefusalCode, detail: string): AppError {
  const error = code === "invalid_json" ? "invalid_json" : "invalid_payload";
  return new AppError("INVALID_EVENT", { detail, extra: { ok: false, error, code }, headers: { "x-opsmantik-error-code": code } });
}

export interface Batch {
  siteId: SiteId;
  /** As sent: each is parsed on its own, so that one bad event does not cost the others. */
  events: unknown[];
  /** A message that only says what the visitor chose; it has no events. */
  choice: ConsentMessage | null;
  trackerVersion: number | null;
}

/** What a request counts against limits. A choice counts as one, and so does a batch that is too large: it is refused as a whole. */
export function countedEvents({ events }: Batch): number {
  return events.length > eventsPerRequestMax ? 1 : Math.max(1, events.length);
}

const consentMessage = z.object({
  fp: visitorsId.pipe(z.string()),
  consent_scopes: scopes.transform((given) => given ?? []),
  t: age,
  u: optional(2048),
});
type ConsentMessage = z.output<typeof consentMessage>;

/** No event has its visitor on top; a withdrawal has nothing else. */
const isConsentMessage = (body: Record<string, unknown>) => !("events" in body) && "fp" in body && "consent_scopes" in body;

function readChoice(body: Record<string, unknown>): ConsentMessage {
  const parsed = consentMessage.safeParse(body);
  if (!parsed.success) throw refusal("missing_visitor", "Say in fp whose choice this is.");
  return parsed.data;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

const version = z
  .int()
  .min(1)
  .max(1000)
  .nullish()
  .catch(null)
  .transform((given) => given ?? null);

/** A single event, `{events: […]}`, or what one visitor chose, and the one site all of it names. */
export function readBatch(rawBody: string): Batch {
  let body: unknown;
  try {
    body = JSON.parse(rawBody);
  } catch {
    throw refusal("invalid_json", "The body is not JSON.");
  }
  if (!isRecord(body)) throw refusal("payload_not_object", "Send one event, or {events: […]}.");
  const choice = isConsentMessage(body) ? readChoice(body) : null;
  const events = choice ? [] : "events" in body ? body.events : [body];
  if (!Array.isArray(events) || (events.length === 0 && !choice)) throw refusal("events_empty", "The batch has no events.");
  const sites = new Set([body.s, ...events.map((event) => (isRecord(event) ? event.s : undefined))].filter((site) => site !== undefined));
  if (sites.size > 1) throw refusal("batch_mixed_sites", "All events of a batch belong to one site.");
  const [siteId] = sites;
  if (typeof siteId !== "string" || siteId === "") throw refusal("missing_site_or_url", "Say in s which site this is.");
  return { siteId: siteIdShape.parse(siteId), events, choice, trackerVersion: version.parse(body.v) };
}
