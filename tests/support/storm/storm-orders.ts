import type { Failpoint } from "./failpoints.ts";
import { count, type StormScene } from "./storm-scene.ts";
import type { StormWorkers } from "./storm-workers.ts";
import type { Order } from "./worker-in-child.ts";

/** Every step of a worker, each of which it can die before, over and after. The gate is passed within the claim. */
const steps: Record<Order["work"], string[]> = {
  deliver: [
    "list_offline_conversion_groups",
    "acquireSlot",
    "provider_credentials_for",
    "claim_offline_conversion_jobs_v2",
    "upload",
    "upload",
    "fetch",
    "fetch",
    "settle_offline_conversion_jobs",
    "settle_offline_conversion_jobs",
    "releaseSlot",
    "defer_offline_conversion_jobs",
    "claim_marketing_signal_jobs",
    "settle_marketing_signal_jobs",
  ],
  verdicts: ["claim_verdict_polls", "readVerdicts", "fetch", "record_verdicts"],
  recover: ["recover_stuck_offline_conversion_jobs", "recover_marketing_signals"],
  cap: ["oci_attempt_cap"],
};

/** The share of orders over which the worker should die. */
const deaths = 0.6;

/** One order for one worker, which may die over it. A run that fails without dying fails the storm, unless the database was away. */
export async function giveOrder(scene: StormScene, workers: StormWorkers): Promise<void> {
  const { stack, random } = scene;
  const work = random.weighed([
    [70, "deliver"],
    [15, "verdicts"],
    [12, "recover"],
    [3, "cap"],
  ] as const);
  const death = random.chance(deaths) ? random.weighed([[85, "at a step"] as const, [15, "anywhere"] as const]) : null;
  const failpoint = chooseFailpoint(scene, work);
  const killAfterMs = random.integer(5, 400);
  const limit = random.pick([5, 20, 100, 500]);
  const order: Order = { work, limit, offsetMs: stack.clock.offsetMs(), failpoint: death === "at a step" ? failpoint : null };
  const result = await workers.run(order, death === "anywhere" ? killAfterMs : undefined);
  count(scene, `${work}: ${result.end}`);
  if (result.end === "failed" && !result.outcome.ok && !/DATABASE_UNAVAILABLE/.test(result.outcome.error))
    throw new Error(`A worker failed: ${result.outcome.error}`);
}

function chooseFailpoint({ random }: StormScene, work: Order["work"]): Failpoint {
  const nth = random.weighed([
    [8, 1],
    [2, 2],
    [1, 3],
  ]);
  return { point: `${random.pick(steps[work])}.${random.pick(["before", "during", "after"])}`, nth };
}
