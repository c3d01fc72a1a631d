import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { maxAttempts } from "#lib/oci/limits.ts";
import {
  claimAnswer,
  groupList,
  type Pipeline,
  settledAndClaimedAnswer,
  settledAnswer,
  settledRow,
  storable,
  storableText,
} from "./pipeline.ts";

/** As many as SQL lists: fair share must see every waiting site to serve each of them in turn. */
const groupsMax = 10_000;

/** Sealed conversions and their corrections, from offline_conversion_queue. */
export const sealPipeline: Pipeline = {
  name: "seals",
  listGroups: () => callRpc("list_offline_conversion_groups", { p_limit_groups: groupsMax, p_max_attempts: maxAttempts() }, groupList),
  claim: ({ siteUuid, providerKey }, limit) =>
    callRpc(
      "claim_offline_conversion_jobs_v2",
      { p_site_id: siteUuid, p_provider_key: providerKey, p_limit: limit, p_max_attempts: maxAttempts() },
      claimAnswer,
    ),
  async defer({ siteUuid, providerKey }, limit, { until, jitterSeconds, code, message }) {
    const { deferred } = await callRpc(
      "defer_offline_conversion_jobs",
      {
        p_site_id: siteUuid,
        p_provider_key: providerKey,
        p_limit: limit,
        p_until: until.toISOString(),
        p_code: code,
        p_message: storableText(message),
        p_jitter_seconds: jitterSeconds,
        p_max_attempts: maxAttempts(),
      },
      z.object({ deferred: z.number() }),
    );
    return deferred;
  },
  settle: ({ siteUuid }, token, results, facts) =>
    callRpc(
      "settle_offline_conversion_jobs",
      {
        p_site_id: siteUuid,
        p_token: token,
        p_results: storable(results.map(settledRow)),
        p_max_attempts: maxAttempts(),
        p_batch: storable(facts),
      },
      settledAnswer,
    ),
  settleAndClaim: ({ siteUuid, providerKey }, { token, answer, facts }, { limit, after }) =>
    callRpc(
      "settle_and_claim_conversion_jobs",
      {
        p_site_id: siteUuid,
        p_provider_key: providerKey,
        p_token: token,
        p_sent: storable({ ...answer.sent, firstPollSeconds: facts.firstPollSeconds, customerId: facts.customerId }),
        p_batch: storable(facts),
        p_limit: limit,
        p_max_attempts: maxAttempts(),
        p_after: after,
        ...(answer.rows && { p_ids: answer.rows.ids, p_indexes: answer.rows.indexes }),
      },
      settledAndClaimedAnswer,
    ),
};

/** Signals of leads that are not sealed yet, from marketing_signals. They share circuit, semaphore, ledger and metrics with seals. */
export const signalPipeline: Pipeline = {
  name: "signals",
  listGroups: () => callRpc("list_signal_groups", { p_limit_groups: groupsMax, p_max_attempts: maxAttempts() }, groupList),
  claim: ({ siteUuid, providerKey }, limit) =>
    callRpc(
      "claim_marketing_signal_jobs",
      { p_site_id: siteUuid, p_provider_key: providerKey, p_limit: limit, p_max_attempts: maxAttempts() },
      claimAnswer,
    ),
  defer: async () => 0, // a signal that cannot be sent now simply waits for the next run
  settle: ({ siteUuid }, token, results, facts) =>
    callRpc(
      "settle_marketing_signal_jobs",
      {
        p_site_id: siteUuid,
        p_token: token,
        p_results: storable(results.map(settledRow)),
        p_batch: storable(facts),
        p_max_attempts: maxAttempts(),
      },
      settledAnswer,
    ),
};
