import { z } from "zod";
import { callRpc, untilDone } from "#lib/db/call-rpc.ts";
import { log } from "#lib/platform/log.ts";

const checking = z.object({ rowsCounted: z.number().nullable(), drift: z.number(), more: z.boolean() });

/** What one call folds at most. A call that folded as many is followed by another. */
const foldMax = 50_000;

export async function foldQueueCounts(): Promise<{ folded: number }> {
  let total = 0;
  await untilDone(async () => {
    const { folded } = await callRpc("fold_queue_counts", {}, z.object({ folded: z.number() }));
    total += folded;
    return folded === foldMax;
  });
  return { folded: total };
}

/**
 * Counts the queue step by step and corrects the running figures; the next run continues what 20 seconds do not reach. A difference is a
 * defect: it is logged and kept.
 */
export async function reconcileQueueCounts(): Promise<z.output<typeof checking>> {
  let answer: z.output<typeof checking> = { rowsCounted: null, drift: 0, more: true };
  await untilDone(async () => {
    answer = await callRpc("reconcile_queue_counts", {}, checking);
    return answer.more;
  });
  if (answer.drift > 0) log.warn("queue counts corrected", answer);
  return answer;
}
