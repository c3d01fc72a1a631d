import { causes, type WorkItem } from "./ledger.ts";
import type { StormScene } from "./storm-scene.ts";
import type { StormWorkers } from "./storm-workers.ts";

/** What happened in a storm, for whoever ran it. */
export function describeStorm({ tally, sales }: StormScene, workers: StormWorkers, work: WorkItem[], about: string): string {
  const listed = (counts: Map<string, number>) =>
    [...counts]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([what, times]) => `${times} ${what}`)
      .join(", ");
  return [
    `${about}: ${sales.length} conversions, ${workers.kills} kills`,
    `  happened: ${listed(tally)}`,
    `  killed at: ${listed(workers.killsAt)}`,
    ...work.map(({ site, kind, cause, rows }) => `  left to a person: ${rows} ${kind} of ${site}: ${causes[cause] ?? cause}`),
  ].join("\n");
}

/** Work that nothing in the storm explains. */
export function unexplainedWork(work: WorkItem[]): string[] {
  return work.filter(({ cause }) => !(cause in causes)).map(({ cause, saleId }) => `sale ${saleId}: left to a person for ${cause}`);
}
