import { z } from "zod";
import { leadChannels } from "#lib/channels.ts";
import { pagedCsv } from "#lib/csv/paged-csv.ts";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { maxAttempts } from "#lib/oci/limits.ts";
import { type QueueSort, queueActions, queueSorts } from "#lib/oci/queue-types.ts";
import { type SiteId, siteIdShape } from "#lib/site.ts";
import { category, clickKind, flag, kind, moment, status, verdict } from "./shapes.ts";

/** Rows of the queue: which ones a reader asks for, what each holds, and how they are read. */

const channel = z.enum(leadChannels);
const cents = z.coerce.number().int().min(0).max(100_000_000_000);
const at = z.iso.datetime({ offset: true });

/** The closed set of filters. Addresses carry them as text; a preview carries them as JSON. */
export const queueFilter = z.strictObject({
  status: status.optional(),
  errorCategory: category.optional(),
  errorCode: z.string().min(1).max(64).optional(),
  provider: z.string().min(1).max(64).optional(),
  channel: channel.optional(),
  kind: kind.optional(),
  minValue: cents.optional(),
  maxValue: cents.optional(),
  createdFrom: at.optional(),
  createdTo: at.optional(),
  updatedFrom: at.optional(),
  updatedTo: at.optional(),
  /** What Google says of a row that was sent. */
  verdict: verdict.optional(),
  /** When it was sent: days of the site's time zone, both included. */
  sentFrom: z.iso.date().optional(),
  sentTo: z.iso.date().optional(),
  minAttempts: z.coerce.number().int().min(0).max(1000).optional(),
  stuck: flag.optional(),
  waitingForDelay: flag.optional(),
  /** Only what waits: QUEUED and RETRY. */
  waiting: flag.optional(),
  /** True: only FAILED rows that were closed on purpose. False: everything else. */
  notSent: flag.optional(),
  /** An order id or a row's id, a click id, or the last digits of a phone number (4 or more). */
  q: z.string().trim().min(1).max(512).optional(),
});
export type QueueFilter = z.output<typeof queueFilter>;

export const queueRowsQuery = queueFilter.extend({
  siteId: siteIdShape,
  sort: z.enum(queueSorts).default("created"),
  cursor: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(100),
});
export const queueExportQuery = queueFilter.extend({ siteId: siteIdShape, bom: flag.default(true) });

const byHandReasons = ["NO_ADS_API_ACCESS", "SENT_BY_SCRIPT", "WBRAID_ONLY", "NO_VERDICT", "OTHER_ACCOUNT"] as const;
/**
 * What a waiting row waits for besides its time. RETRACTION: another sale of the lead, see heldBy. VERDICT: Google has not said whether it took
 * the conversion. DAY: a script or a person sent the conversion less than a day ago. ACTION: no usable conversion action has the row's name.
 */
const waitReasons = ["RETRACTION", "VERDICT", "DAY", "ACTION", "QUOTA", "PAUSE"] as const;

export const queueRow = z.object({
  id: z.string(),
  callId: z.string().nullable(),
  saleId: z.string(),
  provider: z.string(),
  kind,
  status,
  orderId: z.string(),
  valueCents: z.number(),
  currency: z.string(),
  conversionTime: moment,
  channel: channel.nullable(),
  clickKind: clickKind.nullable(),
  phoneEnding: z.string().nullable(),
  attemptCount: z.number(),
  attemptsLeft: z.number(),
  notBefore: moment,
  nextRetryAt: moment.nullable(),
  claimedAt: moment.nullable(),
  stuck: z.boolean(),
  lastError: z.string().nullable(),
  providerErrorCode: z.string().nullable(),
  providerErrorCategory: category.nullable(),
  /** What the last real attempt met. The fields above may be a deferral that came since. A code of null: the sender threw. */
  attemptError: z.string().nullable(),
  attemptErrorCode: z.string().nullable(),
  attemptErrorCategory: category.nullable(),
  /** Attempts given back because Google asked to wait; at most 20. */
  freeWaits: z.number(),
  /** An adjustment that no API makes: a person does it in Google Ads, on API sites too. */
  byHandReason: z.enum(byHandReasons).nullable(),
  /** An earlier, cancelled sale of the lead that Google still has, and the row that must be finished first. */
  heldBy: z.object({ saleId: z.string(), rowId: z.string() }).nullable(),
  waitsFor: z.enum(waitReasons).nullable(),
  /** Of DAY: when the day is over. */
  waitsUntil: moment.nullable(),
  uploadedAt: moment.nullable(),
  providerRequestId: z.string().nullable(),
  /** How it went to Google: script, data_manager, ads_api or by_hand; null before it did. */
  transport: z.string().nullable(),
  verdict: verdict.nullable(),
  verdictReason: z.string().nullable(),
  verdictAt: moment.nullable(),
  /** What an operator may do with it, as SQL judges it. */
  allowedActions: z.array(z.enum(queueActions)),
  /** Of a row that Google has, whose sale was cancelled since: whether the retraction was sent. */
  takeBack: z.enum(["PENDING", "DONE"]).nullable(),
  createdAt: moment,
  updatedAt: moment,
});
export type QueueRow = z.output<typeof queueRow>;

export const queueRows = z.object({ siteId: siteIdShape, rows: z.array(queueRow), nextCursor: z.string().nullable() });
export type QueueRows = z.output<typeof queueRows>;

export interface QueuePage {
  filter: QueueFilter & { sort?: QueueSort };
  cursor?: string | undefined;
  limit: number;
}

export const readQueueRows = (db: SessionClient, siteId: SiteId, { filter, cursor, limit }: QueuePage) =>
  callAsUser(
    db,
    "queue_rows",
    { p_public_id: siteId, p_filter: filter, p_limit: limit, p_max_attempts: maxAttempts(), ...(cursor && { p_cursor: cursor }) },
    queueRows,
  );

/** A few conversions that wait to be sent, the newest first: for a dry run. */
export async function readWaitingRows(db: SessionClient, siteId: SiteId, limit: number): Promise<QueueRow[]> {
  const statuses = ["QUEUED", "RETRY"] as const;
  const pages = await Promise.all(statuses.map((status) => readQueueRows(db, siteId, { filter: { status }, limit })));
  return pages.flatMap(({ rows }) => rows).slice(0, limit);
}

/** The most the database gives at once. */
const pageMax = 1000;

const columns: [string, (row: QueueRow) => string | number | null][] = [
  ["id", (row) => row.id],
  ["order_id", (row) => row.orderId],
  ["status", (row) => row.status],
  ["kind", (row) => row.kind],
  ["provider", (row) => row.provider],
  ["value", (row) => row.valueCents / 100],
  ["currency", (row) => row.currency],
  ["conversion_time", (row) => row.conversionTime],
  ["channel", (row) => row.channel],
  ["click_kind", (row) => row.clickKind],
  ["phone_ending", (row) => row.phoneEnding],
  ["attempts", (row) => row.attemptCount],
  ["error_code", (row) => row.providerErrorCode],
  ["error_category", (row) => row.providerErrorCategory],
  ["last_error", (row) => row.lastError],
  ["next_retry_at", (row) => row.nextRetryAt],
  ["uploaded_at", (row) => row.uploadedAt],
  ["provider_request_id", (row) => row.providerRequestId],
  ["verdict", (row) => row.verdict],
  ["created_at", (row) => row.createdAt],
  ["updated_at", (row) => row.updatedAt],
];

/** Every row that matches a filter as CSV. */
export const queueCsv = (db: SessionClient, siteId: SiteId, { filter, bom }: { filter: QueueFilter; bom: boolean }) =>
  pagedCsv({
    name: `queue-${new Date().toISOString().slice(0, 10)}.csv`,
    bom,
    columns,
    read: async (cursor) => {
      const { rows, nextCursor } = await readQueueRows(db, siteId, { filter, cursor, limit: pageMax });
      return { rows, next: nextCursor };
    },
  });
