import { z } from "zod";

/** What trackers send, bounded. Texts that are too long are cut: a long title is no reason to lose a lead. */

export const eventsPerRequestMax = 100;
const urlMaxChars = 4096;
const nameMaxChars = 60;
const labelMaxChars = 65_536;
const storedLabelMaxChars = 300;
const ageMaxMs = 86_400_000;

/** Postgres stores no NUL and no lone surrogate, and a cut can leave one. */
export const cleaned = (text: string, maxChars: number) => text.replaceAll("\0", "").slice(0, maxChars).toWellFormed();
/** Anything but a text or a number counts as nothing. One function instead of a schema of alternatives: an event has twenty of these. */
export const optional = (maxChars: number) =>
  z
    .unknown()
    .optional()
    .transform((value) => (typeof value === "string" || Number.isFinite(value) ? cleaned(String(value), maxChars) || null : null));
/** Ids that a telephone system makes. They live in a space of their own: what comes unsigned and begins like one counts as nothing. */
export const systemIdPrefix = "system/";
/** Stands in for the visitor of what was erased. */
const erasedIdPrefix = "erased-";
export const isReservedId = (id: string) => id.startsWith(systemIdPrefix) || id.startsWith(erasedIdPrefix);
/** An id that a visitor's browser gives. */
export const visitorsId = optional(64).transform((id) => (id && isReservedId(id) ? null : id));
const named = (maxChars: number, otherwise: string) => optional(maxChars).transform((value) => value ?? otherwise);

/** A category or an action as wireEvent reads it, for limits that come before it. */
export const nameOf = (value: unknown) => (typeof value === "string" ? cleaned(value, nameMaxChars) : "");

const number = z
  .unknown()
  .optional()
  .transform((value) =>
    (typeof value === "number" || typeof value === "string") && value !== "" && Number.isFinite(Number(value)) ? Number(value) : null,
  );

/** How long ago it happened, by the sender's own clock: a difference, so it does not matter what that clock shows. At most a day. */
export const age = number.transform((value) => Math.min(Math.max(value ?? 0, 0), ageMaxMs));

/** Left out, not cleaned: what is left of a scope must not grant more than the scope did. */
const isStorable = (text: string) => text.isWellFormed() && !text.includes("\0");

/** Scopes that are sent always count; unreadable ones grant nothing. */
export const scopes = z
  .array(z.string().max(40))
  .max(10)
  .nullish()
  .transform((value) => value?.filter(isStorable))
  .catch([]);

const meta = z.preprocess(
  (value) => (typeof value === "object" && value !== null && !Array.isArray(value) ? value : {}),
  z.object({
    fp: visitorsId,
    gclid: optional(512),
    wbraid: optional(512),
    gbraid: optional(512),
    utm_source: optional(200),
    utm_medium: optional(200),
    utm_campaign: optional(200),
    utm_content: optional(200),
    utm_term: optional(200),
    device: optional(40),
    intent_stamp: visitorsId,
    consent_scopes: scopes.optional(),
  }),
);

/** One event of the wire. Unknown fields are left out: nobody sets a price or a site id from a web page. */
export const wireEvent = z
  .object({
    s: z.string().optional(),
    u: z.string().optional(),
    url: z.string().optional(),
    sid: visitorsId,
    eid: visitorsId,
    ec: named(nameMaxChars, "interaction"),
    ea: named(nameMaxChars, "view"),
    el: optional(labelMaxChars),
    ev: number,
    t: age,
    r: optional(2048),
    meta,
    consent_scopes: scopes.optional(),
  })
  .transform(({ u, url, el, ...event }) => ({
    ...event,
    el: el === null ? null : cleaned(el, storedLabelMaxChars),
    /** Two long labels that begin alike are two events. */
    wholeLabel: el,
    url: cleaned(url ?? u ?? "", urlMaxChars),
  }))
  .refine(({ url }) => /^https?:\/\//.test(url) && URL.canParse(url), "missing_site_or_url");

export type WireEvent = z.output<typeof wireEvent>;

/**
 * What is captured of an event: everything the worker needs, and nothing it may not have. The gate writes it, the worker reads
 * it, perhaps from a newer version of this code: fields are only ever added.
 */
export const capturedEvent = z.object({
  visitor: z.string().min(1).max(64),
  category: z.string().max(60),
  action: z.string().max(60),
  label: z.string().nullable(),
  value: z.number().nullable(),
  url: z.string(),
  referrer: z.string().nullable(),
  device: z.string().nullable(),
  country: z.string().nullable(),
  city: z.string().nullable(),
  utm: z.record(z.string(), z.string()),
  gclid: z.string().nullable(),
  wbraid: z.string().nullable(),
  gbraid: z.string().nullable(),
  /** How long before we received it the event happened. */
  ageMs: z.number().default(0),
  /** What the visitor had agreed to when it happened; null where nobody asked. */
  scopes: z.array(z.string()).nullable().default(null),
  trackerVersion: z.number().int().nullable().default(null),
  reporter: z.enum(["tracker", "system"]).default("tracker"),
  /** null: this path cannot know; the visitor's own choice holds, or else marketingDefault. */
  marketingConsent: z.boolean().nullable(),
  marketingDefault: z.boolean(),
  intentStamp: z.string().nullable(),
  /** Who called, where a telephone system knows it. */
  phone: z.string().nullable(),
  /** Where the request came from, as lib/ingest/request-origin.ts writes it. Only counted per day, never stored with the event. */
  network: z.string().max(40).nullable().optional(),
  browser: z.string().max(20).nullable().optional(),
});
export type CapturedEvent = z.output<typeof capturedEvent>;
