import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { circuitStates } from "#lib/oci/queue-types.ts";
import { type SiteId, siteIdShape } from "#lib/site.ts";
import { pause } from "#lib/tenancy/site-fields.ts";
import { category, causeCount, centsByCurrency, moment, status } from "./shapes.ts";

/** The figures of the queue: of one site, or of all sites of the reader. */

export const queueStatsQuery = z
  .object({ siteId: siteIdShape.optional(), scope: z.enum(["site", "multi"]).default("site") })
  .refine((query) => query.scope === "multi" || query.siteId !== undefined, { path: ["siteId"], message: "REQUIRED" });

const totals = z.record(status, z.number());

/** How a connected API site's provider stands; of several sites the worst. Null where a script sends. */
const circuit = z.object({
  state: z.enum(circuitStates),
  failureCount: z.number(),
  nextProbeAt: moment.nullable(),
});
/** Nothing is sent until an owner fixes the connection. */
const blocked = z.object({ code: z.string(), since: moment });
const providerStats = z.object({
  provider: z.string(),
  totals,
  valueWaitingCents: centsByCurrency,
  blocked: blocked.nullable(),
  circuit: circuit.nullable(),
});

export const queueStats = z.object({
  /** Null when the figures are of all the reader's sites. */
  siteId: siteIdShape.nullable(),
  scope: z.enum(["site", "multi"]),
  totals,
  /** Of totals.FAILED: closed on purpose before anything was sent (DETERMINISTIC_SKIP). */
  notSent: z.number(),
  stuckProcessing: z.number(),
  lastUpdatedAt: moment.nullable(),
  /** What QUEUED and RETRY rows are worth. */
  valueWaitingCents: centsByCurrency,
  /** failed / (failed + completed), without what was skipped on purpose (DETERMINISTIC_SKIP). Null before anything ended. */
  failedRatio: z.number().nullable(),
  oldestWaitingAt: moment.nullable(),
  /** When the next row of a state may be sent; in the past: it may be sent now. Null: what waits needs a person, or Google's word on something else. */
  nextDueAt: z.object({ QUEUED: moment.nullable(), RETRY: moment.nullable() }),
  perProvider: z.array(providerStats),
  circuit: circuit.nullable(),
  blocked: blocked.nullable(),
  /** Google's limit is used up until then: nothing is sent before. */
  quotaUntil: moment.nullish(),
  /** The owner's pause, of one site: nothing is sent before its end. */
  pause: pause.nullish(),
  /** Whether sites that send by API have credentials; null when none sends by API. */
  connected: z.boolean().nullable(),
  /** Conversion actions that Google refuses: what waits for them is not sent. */
  blockedActions: z.array(z.object({ conversionName: z.string(), code: z.string(), since: moment })),
  /** Names of sales for which no conversion action was chosen: none of them is sent. */
  missingActions: z.array(z.string()),
  /** The last call of the site's script, or the worker's last turn for an API site. */
  lastRun: z.object({ at: moment, ok: z.boolean(), kind: z.string(), errorCode: z.string().nullable() }).nullable(),
  mainCause: z.object({ code: z.string(), category, count: z.number() }).nullable(),
  /** Rows that are FAILED now by cause, biggest first, what was skipped on purpose included. */
  failedCauses: z.array(causeCount),
  /** Corrections that neither the script nor an API can make: they wait for a person in Google Ads. */
  waitingByHand: z.number(),
  /** Rows that failed because Google refused the API's access: new access sends them. */
  refusedAccess: z.number(),
  /** What Google rejected and does not have yet, by its reason. */
  rejectedCauses: z.array(causeCount),
});
export type QueueStats = z.output<typeof queueStats>;

/** Without a site the figures are those of all sites of the reader. */
export const readQueueStats = (db: SessionClient, siteId: SiteId | undefined) =>
  callAsUser(db, "queue_stats", siteId === undefined ? {} : { p_public_id: siteId }, queueStats);
