import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import type { SiteMachine } from "#lib/http/machine-guards.ts";
import { log } from "#lib/platform/log.ts";
import { forgetPageViews } from "./page-view-queue.ts";
import { maxAttempts } from "./queue-types.ts";

const idsMax = 1000;
const queueIds = z.array(z.string().max(80)).min(1).max(idsMax);

export const ackBody = z.object({ siteId: z.string(), queueIds });
export const ackFailedBody = z.object({
  siteId: z.string(),
  queueIds,
  errorCode: z.string().min(1).max(64).default("VALIDATION_FAILED"),
  errorMessage: z.string().max(1024).default(""),
  errorCategory: z.enum(["VALIDATION", "TRANSIENT", "AUTH", "RATE_LIMIT"]).default("VALIDATION"),
});

const patterns = {
  seals: /^seal_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/,
  signals: /^signal_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/,
  // 32 digits without dashes: what was handed out before ids were uuids. None is left after three days.
  pageViews: /^(pv_(?:[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}))$/,
};

/** Ids by the pipeline their prefix names. Nothing is guessed: an id that is none of the three is refused. */
function sortIds(ids: string[]) {
  const given = [...new Set(ids)];
  const of = (pattern: RegExp) => given.flatMap((id) => pattern.exec(id)?.[1] ?? []);
  const sorted = { seals: of(patterns.seals), signals: of(patterns.signals), pageViews: of(patterns.pageViews) };
  return { ...sorted, unknown: given.filter((id) => !Object.values(patterns).some((pattern) => pattern.test(id))) };
}

const answered = z.object({ updated: z.number(), refused: z.array(z.string()) });

export interface AckAnswer {
  ok: true;
  /** How many of these ids are acknowledged now, by this call or an earlier one: the same call gets the same answer. */
  updated: number;
  warnings?: { redis_cleanup_failed?: string[]; refused?: string[] };
}

function answerOf(updated: number, warnings: { redis_cleanup_failed: string[]; refused: string[] }): AckAnswer {
  const given = Object.fromEntries(Object.entries(warnings).filter(([, ids]) => ids.length > 0));
  return { ok: true, updated, ...(Object.keys(given).length > 0 && { warnings: given }) };
}

/** The script handed these to Google. */
export async function acknowledge(machine: SiteMachine, ids: string[]): Promise<AckAnswer> {
  const { seals, signals, pageViews, unknown } = sortIds(ids);
  const { siteId, keyId } = machine;
  const none = { updated: 0, refused: [] };
  const sealed = seals.length
    ? await callRpc("ack_offline_conversions", { p_site_id: siteId, p_ids: seals, p_key_id: keyId }, answered)
    : none;
  const signalled = signals.length ? await callRpc("ack_marketing_signals", { p_site_id: siteId, p_ids: signals }, answered) : none;
  const views = await cleanUp(machine.publicId, pageViews);
  return answerOf(sealed.updated + signalled.updated + views.done.length, {
    redis_cleanup_failed: views.failed,
    refused: [...unknown, ...sealed.refused.map((id) => `seal_${id}`), ...signalled.refused.map((id) => `signal_${id}`), ...views.refused],
  });
}

/** Redis that fails must not keep the seals that are already acknowledged. */
async function cleanUp(publicId: string, ids: string[]): Promise<{ done: string[]; refused: string[]; failed: string[] }> {
  try {
    return { ...(await forgetPageViews(publicId, ids)), failed: [] };
  } catch (error) {
    log.warn("page views not cleaned up", { error });
    return { done: [], refused: [], failed: ids };
  }
}

/** The script could not hand these over. Page views have no failures: they come again by themselves. */
export async function reportFailed(machine: SiteMachine, failure: z.output<typeof ackFailedBody>): Promise<AckAnswer> {
  const { seals, signals, pageViews, unknown } = sortIds(failure.queueIds);
  const { siteId, keyId } = machine;
  const { errorCode, errorCategory, errorMessage } = failure;
  const words = errorMessage || errorCode;
  const common = { p_site_id: siteId, p_category: errorCategory, p_words: words, p_max_attempts: maxAttempts() };
  const none = { updated: 0, refused: [] };
  const sealed = seals.length
    ? await callRpc("fail_offline_conversions", { ...common, p_ids: seals, p_code: errorCode, p_key_id: keyId }, answered)
    : none;
  const signalled = signals.length ? await callRpc("fail_marketing_signals", { ...common, p_ids: signals }, answered) : none;
  const refused = [...unknown, ...pageViews, ...sealed.refused.map((id) => `seal_${id}`), ...signalled.refused.map((id) => `signal_${id}`)];
  return answerOf(sealed.updated + signalled.updated, { redis_cleanup_failed: [], refused });
}
