import { callRpc } from "#lib/db/call-rpc.ts";
import { maxAttempts } from "#lib/oci/limits.ts";
import { claimAnswer, groupList, type Pipeline, settledAnswer, settledRow, storable } from "./pipeline.ts";

const groupsMax = 10_000;

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
