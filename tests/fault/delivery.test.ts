import { afterAll, beforeAll, expect, test } from "vitest";
import { findRedisServer } from "#scripts/local/redis/redis.ts";
import { drain, workAsPerson } from "#tests/support/storm/drain.ts";
import { readWork } from "#tests/support/storm/ledger.ts";
import { findProblems } from "#tests/support/storm/reckoning.ts";
import { describeStorm, unexplainedWork } from "#tests/support/storm/report.ts";
import { StormRandom } from "#tests/support/storm/storm-random.ts";
import { runStorm, workersMax } from "#tests/support/storm/storm-rounds.ts";
import type { StormScene } from "#tests/support/storm/storm-scene.ts";
import { createStormSites } from "#tests/support/storm/storm-sites.ts";
import { type StormStack, startStormStack } from "#tests/support/storm/storm-stack.ts";
import { StormWorkers } from "#tests/support/storm/storm-workers.ts";
import { tellStory } from "#tests/support/storm/story.ts";

const isFull = process.env.OPSMANTIK_FAULT === "full";
/** OPSMANTIK_STORM_KILLS makes one of another size; OPSMANTIK_STORM_LOG keeps the workers' log. Both for whoever looks for a failure. */
const kills = Number(process.env.OPSMANTIK_STORM_KILLS ?? (isFull ? 1000 : 20));
const size = { kills, conversions: kills * (kills > 20 ? 20 : 10) };
const seed = Number(process.env.OPSMANTIK_STORM_SEED ?? 20_261_116);

const hasRedis = findRedisServer() !== undefined;
if (isFull && !hasRedis)
  throw new Error("The full fault test needs a real redis-server: the mock cannot be taken down. Install redis-server.");

let stack: StormStack;
let workers: StormWorkers;
let scene: StormScene;

beforeAll(async () => {
  if (!hasRedis) return;
  stack = await startStormStack();
  Object.assign(process.env, stack.env); // the vault's key: this process seals the credentials that workers open
  workers = new StormWorkers(stack.env, workersMax, process.env.OPSMANTIK_STORM_LOG);
  const sites = await createStormSites(stack);
  scene = { stack, random: new StormRandom(seed), sites, sales: [], cancelled: [], bars: [], pauses: [], tally: new Map() };
}, 300_000);
afterAll(async () => {
  await workers?.stop();
  await stack?.stop();
}, 60_000);

// Guarantee: whoever dies and whenever, Google counts each sale once with what it is worth: 0 lost, 0 double, 0 wrong, 0 unwanted, 0 stuck.
// Mutations that break it: drop assume_arrival from follow_ledger; let Data Manager restate what has no click any more. Both were so when
// this test was written.
test.skipIf(!hasRedis)(
  `${size.conversions} conversions, ${size.kills} workers killed, servers restarted and Google failing: what Google counts equals the ledger`,
  async () => {
    const startedAt = performance.now();
    const rounds = await runStorm(scene, workers, size);
    await drain(scene, workers);
    const work = await readWork(stack.sql());
    await workAsPerson(scene, workers);
    const problems = [...(await findProblems(scene)), ...unexplainedWork(work)];
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    console.log(describeStorm(scene, workers, work, `seed ${seed}, ${rounds} rounds, ${seconds} s`));
    // One of each kind first.
    const kinds = Map.groupBy(problems, (problem) => problem.replaceAll(/[0-9a-f-]{36}|\d+/g, "#"));
    for (const problem of [...kinds.values()].flatMap((alike) => alike.slice(0, 3))) console.log(await tellStory(scene, problem));
    expect(problems, `Run it again with OPSMANTIK_STORM_SEED=${seed}`).toEqual([]);
  },
  kills > 20 ? 3 * 3_600_000 : 1_800_000,
);

test.runIf(!hasRedis)("without a redis-server the storm is not run", () => {
  console.log("No redis-server: the storm over delivery was skipped, because the mock cannot be taken down.");
});
