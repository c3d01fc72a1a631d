import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { chartRanges } from "#lib/oci/queue-types.ts";
import { type SiteId, siteIdShape } from "#lib/site.ts";
import { causeCount, centsByCurrency, moment } from "./shapes.ts";

/** The outcomes of a site's conversions over a span of time. */

export const queueChartsQuery = z.object({ siteId: siteIdShape, range: z.enum(chartRanges).default("7d") });

export const queueCharts = z.object({
  siteId: siteIdShape,
  range: z.enum(chartRanges),
  from: moment,
  to: moment,
  /** Buckets are hours, or days of the site's own time zone; empty ones are there too. */
  bucket: z.enum(["hour", "day"]),
  activity: z.array(z.object({ at: moment, delivered: z.number(), failed: z.number(), notSent: z.number(), retried: z.number() })),
  /** Seconds from seal to delivery over the newest deliveries of the range. */
  latency: z.object({
    sample: z.number(),
    p50Seconds: z.number().nullable(),
    p90Seconds: z.number().nullable(),
    p95Seconds: z.number().nullable(),
    p99Seconds: z.number().nullable(),
  }),
  /** Failures that happened in the range, biggest cause first. */
  causes: z.array(causeCount),
  /** Rows that are FAILED now, biggest cause first, with what they are worth. */
  failedNow: z.array(causeCount.extend({ valueCents: centsByCurrency })),
});
export type QueueCharts = z.output<typeof queueCharts>;

export const readQueueCharts = (db: SessionClient, siteId: SiteId, range: string) =>
  callAsUser(db, "queue_charts", { p_public_id: siteId, p_range: range }, queueCharts);
