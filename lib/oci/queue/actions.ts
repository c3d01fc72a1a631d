import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { onceAnswer, type RequestIdentity } from "#lib/http/answer-once.ts";
import { maxAttempts } from "#lib/oci/limits.ts";
import { queueActions } from "#lib/oci/queue-types.ts";
import { type SiteId, siteIdShape } from "#lib/site.ts";
import { unfixableCodes } from "./causes.ts";
import { queueFilter, queueRow } from "./rows.ts";
import { actor, category, centsByCurrency, moment, status } from "./shapes.ts";

/** What operators do with rows of the queue. SQL checks the role, decides row by row, and answers once per key. */

const options = {
  siteId: siteIdShape,
  action: z.enum(queueActions),
  errorCode: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]{0,63}$/)
    .optional(),
  errorCategory: category.optional(),
  clearErrors: z.boolean().optional(),
};
const reason = z.string().trim().min(1).max(500);
const selected = z.strictObject({
  ...options,
  reason: reason.optional(),
  ids: z.array(z.uuid()).min(1).max(1000),
  /** Also sends rows that wait for a person, by id only, because somebody may already have done it in Google Ads. */
  overApi: z.boolean().optional(),
});
const previewed = z.strictObject({
  ...options,
  reason: reason.optional(),
  previewId: z.uuid(),
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  cursor: z.string().max(80).optional(),
});

/**
 * Rows by id, or all that a preview froze. Failing what a filter matched needs a reason: only a person at the dashboard does that,
 * and otherwise nobody remembers later why four hundred rows were given up.
 */
export const queueActionRequest = z
  .union([selected, previewed])
  .refine((body) => "ids" in body || body.action !== "MARK_FAILED" || body.reason !== undefined, { path: ["reason"], message: "REQUIRED" });
export type QueueActionRequest = z.output<typeof queueActionRequest>;

export const queuePreviewRequest = z.strictObject({ siteId: siteIdShape, action: z.enum(queueActions), filter: queueFilter });
export const queueUndoRequest = z.strictObject({ siteId: siteIdShape, cursor: z.string().max(80).optional() });

/** Why an action left a row as it was. */
const skipReasons = ["NOT_FOUND", "CHANGED_SINCE", "ILLEGAL_MOVE", "SALE_CANCELLED", "ALREADY_QUEUED", "BY_HAND"] as const;
/** A preview also leaves out what a retry cannot fix; such a row is still retried when it is named by its id. */
const previewReasons = [...skipReasons, "UNFIXABLE"] as const;
const skipped = z.object({ id: z.string(), reason: z.enum(skipReasons), status: status.nullable() });

/** While `cursor` is set there is more to do: send the same request again with it. Counts are of the whole action so far. */
export const queueActionAnswer = z.object({
  ok: z.literal(true),
  actionId: z.string(),
  affected: z.number(),
  /** The rows that this call skipped; skippedCount counts all. */
  skipped: z.array(skipped),
  skippedCount: z.number(),
  done: z.number(),
  total: z.number(),
  cursor: z.string().nullable(),
  /** Until when it can be undone; null when it cannot. */
  undoUntil: moment.nullable(),
});
export type QueueActionAnswer = z.output<typeof queueActionAnswer>;

export const queueActionPreview = z.object({
  previewId: z.string(),
  digest: z.string(),
  expiresAt: moment,
  action: z.enum(queueActions),
  /** Rows that would change, and what they are worth. */
  count: z.number(),
  valueCents: centsByCurrency,
  byStatus: z.partialRecord(status, z.number()),
  ineligible: z.partialRecord(z.enum(previewReasons), z.number()),
  sample: z.array(queueRow),
  /** More rows match than one action may take: these are the first. */
  truncated: z.boolean(),
});
export type QueueActionPreview = z.output<typeof queueActionPreview>;

export const queueActionLog = z.array(
  z.object({
    actionId: z.string(),
    action: z.enum([...queueActions, "UNDO"]),
    by: actor,
    byYou: z.boolean(),
    reason: z.string().nullable(),
    filter: z.record(z.string(), z.unknown()).nullable(),
    undoes: z.string().nullable(),
    undoneBy: z.string().nullable(),
    total: z.number(),
    done: z.number(),
    affected: z.number(),
    at: moment,
    undoUntil: moment.nullable(),
  }),
);

export const actOnQueue = (db: SessionClient, { siteId, ...action }: QueueActionRequest, once: RequestIdentity) =>
  callAsUser(db, "act_on_queue", { p_public_id: siteId, p_action: action, ...once }, onceAnswer);

export const undoQueueAction = (db: SessionClient, siteId: SiteId, actionId: string, once: RequestIdentity) =>
  callAsUser(db, "undo_queue_action", { p_public_id: siteId, p_undo: { actionId }, ...once }, onceAnswer);

export const previewQueueAction = (db: SessionClient, { siteId, action, filter }: z.output<typeof queuePreviewRequest>) =>
  callAsUser(
    db,
    "preview_queue_action",
    { p_public_id: siteId, p_action: action, p_filter: filter, p_max_attempts: maxAttempts(), p_unfixable: unfixableCodes },
    queueActionPreview,
  );

export const readQueueActions = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "list_queue_actions", { p_public_id: siteId }, queueActionLog);
