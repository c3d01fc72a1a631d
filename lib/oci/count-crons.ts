import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { log } from "#lib/platform/log.ts";

export const foldQueueCounts = () => callRpc("fold_queue_counts", {}, z.object({ folded: z.number() }));

/** Counts the queue once and corrects the running figures. A difference is a defect somewhere: it is logged and kept. */
export async function reconcileQueueCounts() {
  const answer = await callRpc("reconcile_queue_counts", {}, z.object({ rowsCounted: z.number().nullable(), drift: z.number() }));
  if (answer.drift > 0) log.warn("queue counts corrected", answer);
  return answer;
}
