import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { recoverPageViews } from "#lib/oci/handout/page-views.ts";
import { maxAttempts } from "#lib/oci/limits.ts";
import { log } from "#lib/platform/log.ts";

const minutes = z.coerce.number().int().min(1).max(1440);
export const recoverQuery = z.object({ min_age_minutes: minutes.default(15) });
export const attemptCapQuery = z.object({
  max_attempts: z.coerce.number().int().min(1).max(100).optional(),
  min_age_minutes: z.coerce.number().int().min(0).max(1440).default(15),
});

/** Requeues what was handed out and got no answer, in all three pipelines. */
export async function recoverProcessing(minAgeMinutes: number) {
  const rows = await callRpc(
    "recover_stuck_offline_conversion_jobs",
    { p_min_age_minutes: minAgeMinutes },
    z.object({ recovered: z.number(), retried: z.number(), expired: z.number(), endedBatches: z.number() }),
  );
  const signals = await callRpc(
    "recover_marketing_signals",
    { p_min_age_minutes: minAgeMinutes, p_max_attempts: maxAttempts() },
    z.object({ recovered: z.number(), ended: z.number() }),
  );
  const { purged } = await callRpc("purge_script_runs", {}, z.object({ purged: z.number() }));
  const { purged: purgedIdentifiers } = await callRpc("purge_dispatch_identifiers", {}, z.object({ purged: z.number() }));
  const { purged: purgedHashes } = await callRpc("purge_customer_hashes", {}, z.object({ purged: z.number() }));
  const pageViews = await recoverPageViews(minAgeMinutes).catch((error: unknown) => {
    log.warn("page views not recovered", { error });
    return null; // Redis is down: the next run finds them
  });
  return { ok: true, ...rows, signals, pageViews, purgedRuns: purged, purgedIdentifiers, purgedHashes };
}

export async function capAttempts({ max_attempts, min_age_minutes }: z.output<typeof attemptCapQuery>) {
  const { capped } = await callRpc(
    "oci_attempt_cap",
    { p_max_attempts: max_attempts ?? maxAttempts(), p_min_age_minutes: min_age_minutes },
    z.object({ capped: z.number() }),
  );
  return { ok: true, capped };
}
