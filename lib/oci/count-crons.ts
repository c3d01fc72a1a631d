import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { log } from "#lib/platform/log.ts";

const budgetMs = 20_000;
const checking = z.object({ rowsCounted: z.number().nullable(), drift: z.number(), more: z.boolean() });

export const foldQueueCounts = () => callRpc("fold_queue_counts", {}, z.object({ folded: z.number() }));

/**
 * Counts the queue step by step and corrects the running figures; what 20 seconds do not reach, the next run goes on with. A difference is a
 * defect somewhere: it is logged and kept.
 */
export async function reconcileQueueCounts() {
  const until = Date.now() + budgetMs;
  let answer = await callRpc("reconcile_queue_counts", {}, checking);
  while (answer.more && Date.now() < until) answer = await callRpc("reconcile_queue_counts", {}, checking);
  if (answer.drift > 0) log.warn("queue counts corrected", answer);
  return answer;
}
