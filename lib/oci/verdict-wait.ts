import type { QueueRowStory } from "./control-shapes.ts";

type Sent = Pick<QueueRowStory["dispatches"][number], "at" | "nextCheckAt">;

/**
 * Where a conversion without a verdict stands. first: Google is asked for the first time. again: it was asked, and is asked once more.
 * due: with the next run. none: nobody asks any more.
 */
export function verdictWait({ at, nextCheckAt }: Sent, { firstPollSeconds, now }: { firstPollSeconds: number; now: Date }) {
  if (nextCheckAt === null) return "none";
  if (Date.parse(nextCheckAt) <= now.getTime()) return "due";
  return Date.parse(nextCheckAt) - Date.parse(at) <= firstPollSeconds * 1000 ? "first" : "again";
}
