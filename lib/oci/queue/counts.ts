import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { log } from "#lib/platform/log.ts";

const budgetMs = 20_000;
const checking = z.object({ rowsCounted: z.number().nullable(), drift: z.number(), more: z.boolean() });

/** What one call folds at most. A call that folded as many is followed by another. */
const foldMax = 50_000;

export async function foldQueueCounts(): Promise<{ folded: number }> {
  const until = Date.now() + budgetMs;
  let total = 0;
  for (let folded = foldMax; folded === foldMax && Date.now() < until; total += folded)
    ({ folded } = await callRpc("fold_queue_counts", {}, z.object({ folded: z.number() })));
  return { folded: total };
}

/**
 * Counts the queue step by step and corrects the running figures; the next run continues what 20 seconds do not reach. A difference is a
 * defect: it is logged and kept.
 */
export async function reconcileQueueCounts() {
  const until = Date.now() + budgetMs;
  let answer = await callRpc("reconcile_queue_counts", {}, checking);
  while (answer.more && Date.now() < until) answer = await callRpc("reconcile_queue_counts", {}, checking);
  if (answer.drift > 0) log.warn("queue counts corrected", answer);
  return answer;
}
