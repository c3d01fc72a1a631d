import { cancel, correct, qualify, restore, seal, withdraw } from "./desk-actions.ts";
import { actOnRows, sendAgain, workByHand } from "./operator-actions.ts";
import { runScript } from "./script-run.ts";
import { giveOrder } from "./storm-orders.ts";
import { count, type StormScene } from "./storm-scene.ts";
import type { StormWorkers } from "./storm-workers.ts";
import { addFault, changeConnection, changePause } from "./weather.ts";

const ordersPerRound = 4;
const actionsPerRound = 25;

/** Which server restarts in which of twelve rounds. */
const restarts = new Map<number, "Postgres" | "Redis">([
  [5, "Postgres"],
  [9, "Redis"],
]);

/** As many as a round can use, and one that starts meanwhile. */
export const workersMax = ordersPerRound + 1;

export interface StormSize {
  kills: number;
  conversions: number;
}

/** Rounds until there were enough of both. Gives how many. */
export async function runStorm(scene: StormScene, workers: StormWorkers, { kills, conversions }: StormSize): Promise<number> {
  const sealsPerRound = Math.ceil(conversions / (kills * 0.7)); // a round kills one or two
  const all: Promise<void>[] = [];
  let rounds = 0;
  for (; workers.kills < kills || scene.sales.length < conversions; rounds++) {
    const orders = await stormRound(scene, workers, { round: rounds, seals: scene.sales.length < conversions ? sealsPerRound : 0 });
    for (const order of orders) order.catch(() => {}); // looked at below, when all are in
    all.push(...orders);
    if (rounds % 100 === 99) console.log(`round ${rounds + 1}: ${scene.sales.length} conversions, ${workers.kills} kills`);
  }
  await Promise.all(all);
  return rounds;
}

/** One round: workers work and die while people act, Google fails, and servers restart. Then the clock is set ahead. */
async function stormRound(
  scene: StormScene,
  workers: StormWorkers,
  { round, seals }: { round: number; seals: number },
): Promise<Promise<void>[]> {
  const { stack, random, sites } = scene;
  for (let faults = random.integer(0, 2); faults > 0; faults--) await addFault(scene, random.pick(sites));
  const orders = Array.from({ length: ordersPerRound }, () => giveOrder(scene, workers));
  const restarted = restarts.get(round % 12);
  if (restarted) await restart(scene, restarted);
  else for (let actions = actionsPerRound; actions > 0; actions--) await actAtRandom(scene);
  for (let left = seals; left > 0; ) {
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
    [8, () => changeConnection(scene, site)],
    [2, () => changePause(scene, site)],
  ]);
  await act();
}

async function scriptRuns(scene: StormScene): Promise<void> {
  for (const site of scene.sites) if (site.method === "script") await runScript(scene, site, { mayDie: true });
}
