import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import type { SiteMachine } from "#lib/guards/machine.ts";
import { maxAttempts } from "#lib/oci/limits.ts";
import { log } from "#lib/platform/log.ts";
import { type SiteId, siteIdShape } from "#lib/site.ts";
import { forgetPageViews } from "./page-views.ts";

const idsMax = 1000;
/** As many ids, each once more with its claim: 131 KB of signals. */
export const ackBodyMaxBytes = 256 * 1024;
const queueIds = z.array(z.string().max(80)).min(1).max(idsMax);
/** By the ids of queueIds, the claim that came with each. */
const claims = z
  .record(z.string().max(80), z.string().max(80))
  .refine((given) => Object.keys(given).length <= idsMax, "TOO_MANY")
  .default({});

/** A success counts under any claim, so an ack accepts claims and ignores them. */
export const ackBody = z.object({ siteId: siteIdShape, queueIds, claims });
export const ackFailedBody = z.object({
  siteId: siteIdShape,
  queueIds,
  claims,
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

/** Ids by the pipeline their prefix names. An id with another prefix is refused. */
function sortIds(ids: string[]) {
  const given = [...new Set(ids)];
  const of = (pattern: RegExp) => given.flatMap((id) => pattern.exec(id)?.[1] ?? []);
  const sorted = { seals: of(patterns.seals), signals: of(patterns.signals), pageViews: of(patterns.pageViews) };
  return { ...sorted, unknown: given.filter((id) => !Object.values(patterns).some((pattern) => pattern.test(id))) };
}

/** The claims of one pipeline, by the ids that SQL knows. An empty one counts as missing. */
const claimsOf = (prefix: string, given: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(given).flatMap(([id, claim]) => (claim && id.startsWith(prefix) ? [[id.slice(prefix.length), claim]] : [])),
  );

const answered = z.object({ updated: z.number(), refused: z.array(z.string()) });
const failed = answered.extend({ reasons: z.record(z.string(), z.enum(["STALE_CLAIM", "CLAIMED_TWICE"])) });

export interface AckAnswer {
  ok: true;
  /** How many of these ids are acknowledged now, by this call or an earlier one: the same call gets the same answer. */
  updated: number;
  /** `reasons` says why an id is refused whose row was claimed again since. */
  warnings?: Partial<Warnings>;
}
interface Warnings {
  redis_cleanup_failed: string[];
  refused: string[];
  reasons: Record<string, string>;
}

function answerOf(updated: number, warnings: Partial<Warnings>): AckAnswer {
  const given = Object.fromEntries(Object.entries(warnings).filter(([, named]) => Object.keys(named).length > 0));
  return { ok: true, updated, ...(Object.keys(given).length > 0 && { warnings: given }) };
}

/** The script handed these to Google. */
export async function acknowledge(machine: SiteMachine, ids: string[]): Promise<AckAnswer> {
  const { seals, signals, pageViews, unknown } = sortIds(ids);
  const { siteUuid, keyId } = machine;
  const none = { updated: 0, refused: [] };
  const sealed = seals.length
    ? await callRpc("ack_offline_conversions", { p_site_id: siteUuid, p_ids: seals, p_key_id: keyId }, answered)
    : none;
  const signalled = signals.length ? await callRpc("ack_marketing_signals", { p_site_id: siteUuid, p_ids: signals }, answered) : none;
  const views = await cleanUp(machine.siteId, pageViews);
  return answerOf(sealed.updated + signalled.updated + views.done.length, {
    redis_cleanup_failed: views.failed,
    refused: [...unknown, ...sealed.refused.map((id) => `seal_${id}`), ...signalled.refused.map((id) => `signal_${id}`), ...views.refused],
  });
}

/** A failing Redis must not undo the seals that are already acknowledged. */
async function cleanUp(siteId: SiteId, ids: string[]): Promise<{ done: string[]; refused: string[]; failed: string[] }> {
  try {
    return { ...(await forgetPageViews(siteId, ids)), failed: [] };
  } catch (error) {
    log.warn("page views not cleaned up", { error });
    return { done: [], refused: [], failed: ids };
  }
}

/** The script could not hand these over. Page views have no failures: the next export hands them out again. */
export async function reportFailed(machine: SiteMachine, failure: z.output<typeof ackFailedBody>): Promise<AckAnswer> {
  const { seals, signals, pageViews, unknown } = sortIds(failure.queueIds);
  const { siteUuid, keyId } = machine;
  const { errorCode, errorCategory, errorMessage } = failure;
  const message = errorMessage || errorCode;
  const common = { p_site_id: siteUuid, p_category: errorCategory, p_message: message, p_max_attempts: maxAttempts() };
  const none = { updated: 0, refused: [], reasons: {} };
  const [ofSeals, ofSignals] = [claimsOf("seal_", failure.claims), claimsOf("signal_", failure.claims)];
  const sealed = seals.length
    ? await callRpc("fail_offline_conversions", { ...common, p_ids: seals, p_code: errorCode, p_key_id: keyId, p_claims: ofSeals }, failed)
    : none;
  const signalled = signals.length
    ? await callRpc("fail_marketing_signals", { ...common, p_ids: signals, p_claims: ofSignals }, failed)
    : none;
  const refused = [...unknown, ...pageViews, ...sealed.refused.map((id) => `seal_${id}`), ...signalled.refused.map((id) => `signal_${id}`)];
  const named = (prefix: string, reasons: Record<string, string>) => Object.entries(reasons).map(([id, why]) => [prefix + id, why]);
  const reasons = Object.fromEntries([...named("seal_", sealed.reasons), ...named("signal_", signalled.reasons)]);
  return answerOf(sealed.updated + signalled.updated, { refused, reasons });
}
