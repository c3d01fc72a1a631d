import { cancel, correct, qualify, restore, seal, withdraw } from "./desk-actions.ts";
import type { Failpoint } from "./failpoints.ts";
import { actOnRows, sendAgain, workByHand } from "./operator-actions.ts";
import { runScript } from "./script-run.ts";
import { count, type StormScene } from "./storm-scene.ts";
import type { Result, StormWorkers } from "./storm-workers.ts";
import { addFault, changeConnection } from "./weather.ts";
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

export interface RoundSize {
  /** Orders given to workers. */
  orders: number;
  /** The share of them over which the worker should die. */
  deaths: number;
  seals: number;
  actions: number;
}

/** One round: workers work and die while people act, Google fails, and servers restart. Then the clock is set ahead. */
export async function stormRound(scene: StormScene, workers: StormWorkers, size: RoundSize): Promise<Promise<void>[]> {
  const { stack, random, sites } = scene;
  for (let faults = random.integer(0, 2); faults > 0; faults--) await addFault(scene, random.pick(sites));
  const orders = Array.from({ length: size.orders }, () => order(scene, workers, size));
  if (random.chance(0.08)) await restart(scene, "Postgres");
  else if (random.chance(0.12)) await restart(scene, "Redis");
  else for (let actions = size.actions; actions > 0; actions--) await actAtRandom(scene);
  for (let left = size.seals; left > 0; ) {
    const leads = Math.min(left, random.integer(1, 12));
    await seal(scene, random.pick(sites), leads);
    left -= leads;
  }
  // A slow call is overtaken now and then: its answer comes when its rows have another owner.
  if (!random.chance(0.2)) await Promise.all(orders);
  await stack.clock.advance(
    random.weighed([
      [40, random.integer(1, 5)],
      [50, random.integer(6, 25)],
      [8, random.integer(60, 240)],
      [2, 25 * 60],
    ] as const),
  );
  return orders;
}

/** One order for one worker, which may die over it. A worker that fails without dying fails the storm, unless a server is away. */
async function order(scene: StormScene, workers: StormWorkers, { deaths }: RoundSize): Promise<void> {
  const { stack, random } = scene;
  const work = random.weighed([
    [70, "deliver"],
    [15, "verdicts"],
    [12, "recover"],
    [3, "cap"],
  ] as const);
  const dies = random.chance(deaths);
  const isAnywhere = dies && random.chance(0.15);
  const failpoint: Failpoint | null =
    dies && !isAnywhere
      ? {
          point: `${random.pick(steps[work])}.${random.pick(["before", "during", "after"])}`,
          nth: random.weighed([
            [8, 1],
            [2, 2],
            [1, 3],
          ]),
        }
      : null;
  const killAfterMs = isAnywhere ? random.integer(5, 400) : undefined;
  const limit = random.pick([5, 20, 100, 500]);
  const result: Result = await workers.run({ work, limit, offsetMs: stack.clock.offsetMs(), failpoint }, killAfterMs);
  count(scene, `${work}: ${result.end}`);
  if (result.end === "failed" && !result.outcome.ok && !/DATABASE_UNAVAILABLE/.test(result.outcome.error))
    throw new Error(`A worker failed: ${result.outcome.error}`);
}

async function restart(scene: StormScene, what: "Postgres" | "Redis"): Promise<void> {
  const { stack } = scene;
  if (what === "Postgres") await stack.restartPostgres(scene.random.chance(0.5));
  else {
    await stack.redis.kill();
    await stack.redis.start();
  }
  count(scene, `restarts of ${what}`);
}

async function actAtRandom(scene: StormScene): Promise<void> {
  const { random, sites, sales, cancelled } = scene;
  const site = random.pick(sites);
  if (sales.length === 0) return;
  const act = random.weighed<() => Promise<unknown>>([
    [30, () => correct(scene, random.recent(sales))],
    [14, () => cancel(scene, random.recent(sales))],
    [8, async () => cancelled.length > 0 && restore(scene, random.recent(cancelled))],
    [6, () => withdraw(scene, random.recent(sales))],
    [5, () => qualify(scene, site)],
    [6, () => actOnRows(scene, site, "RETRY_SELECTED")],
    [3, () => actOnRows(scene, site, "RESET_TO_QUEUED")],
    [2, () => actOnRows(scene, site, "MARK_FAILED")],
    [2, () => sendAgain(scene, site)],
    [3, () => workByHand(scene, site, 3)],
    [6, () => scriptRuns(scene)],
    [4, () => changeConnection(scene, site)],
  ]);
  await act();
}

async function scriptRuns(scene: StormScene): Promise<void> {
  for (const site of scene.sites) if (site.method === "script") await runScript(scene, site, { mayDie: true });
}
