import { z } from "zod";
import { chartRanges, leadChannels, queueActions } from "./control-shapes.ts";
import { errorCategories, queueKinds, queueStatuses, verdicts } from "./queue-types.ts";

/** What OCI Control's endpoints take. */

const flag = z.union([z.boolean(), z.enum(["true", "false"]).transform((text) => text === "true")]);
const cents = z.coerce.number().int().min(0).max(100_000_000_000);
const at = z.iso.datetime({ offset: true });

/** The closed set of filters. Addresses carry them as text; a preview carries them as JSON. */
const queueFilter = z.strictObject({
  status: z.enum(queueStatuses).optional(),
  errorCategory: z.enum(errorCategories).optional(),
  errorCode: z.string().min(1).max(64).optional(),
  provider: z.string().min(1).max(64).optional(),
  channel: z.enum(leadChannels).optional(),
  kind: z.enum(queueKinds).optional(),
  minValue: cents.optional(),
  maxValue: cents.optional(),
  createdFrom: at.optional(),
  createdTo: at.optional(),
  updatedFrom: at.optional(),
  updatedTo: at.optional(),
  /** What Google says of a row that was sent. */
  verdict: z.enum(verdicts).optional(),
  /** When it was sent: days of the site's time zone, both included. */
  sentFrom: z.iso.date().optional(),
  sentTo: z.iso.date().optional(),
  minAttempts: z.coerce.number().int().min(0).max(1000).optional(),
  stuck: flag.optional(),
  waitingForDelay: flag.optional(),
  /** An order id or a row's id, a click id, or the last digits of a phone number (4 or more). */
  q: z.string().trim().min(1).max(512).optional(),
});
export type QueueFilter = z.output<typeof queueFilter>;

const siteId = z.string();

export const queueStatsQuery = z
  .object({ siteId: siteId.optional(), scope: z.enum(["site", "multi"]).default("site") })
  .refine((query) => query.scope === "multi" || query.siteId !== undefined, { path: ["siteId"], message: "REQUIRED" });
export const queueRowsQuery = queueFilter.extend({
  siteId,
  sort: z.enum(["created", "updated"]).default("created"),
  cursor: z.string().max(200).optional(),
  limit: z.coerce.number().int().min(1).max(200).default(100),
});
export const queueExportQuery = queueFilter.extend({ siteId, bom: flag.default(true) });
export const queueChartsQuery = z.object({ siteId, range: z.enum(chartRanges).default("7d") });

const options = {
  siteId,
  action: z.enum(queueActions),
  errorCode: z
    .string()
    .regex(/^[A-Z][A-Z0-9_]{0,63}$/)
    .optional(),
  errorCategory: z.enum(errorCategories).optional(),
  clearErrors: z.boolean().optional(),
};
const reason = z.string().trim().min(1).max(500);
const selected = z.strictObject({
  ...options,
  reason: reason.optional(),
  ids: z.array(z.uuid()).min(1).max(1000),
  /** Send what waits for a person, too: only by name, because somebody may have done it in Google Ads already. */
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
 * and nobody remembers later why four hundred rows were given up.
 */
export const queueActionRequest = z
  .union([selected, previewed])
  .refine((body) => "ids" in body || body.action !== "MARK_FAILED" || body.reason !== undefined, { path: ["reason"], message: "REQUIRED" });
export type QueueActionRequest = z.output<typeof queueActionRequest>;

export const queuePreviewRequest = z.strictObject({ siteId, action: z.enum(queueActions), filter: queueFilter });
export const queueUndoRequest = z.strictObject({ siteId, cursor: z.string().max(80).optional() });
