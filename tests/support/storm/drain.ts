import { retryAll, sendUnknownAgain, workByHand } from "./operator-actions.ts";
import { runScript } from "./script-run.ts";
import type { StormScene } from "./storm-scene.ts";
import { setRight } from "./storm-sites.ts";
import type { StormWorkers } from "./storm-workers.ts";
import { changePause } from "./weather.ts";
import type { Order } from "./worker-in-child.ts";

/** After the storm: nothing fails any more, and whatever can be delivered is. */

const roundsMax = 60;
/** Backoff, leases and probes need minutes, free waits six hours, and a script's conversions a day before they are adjusted. */
const stepMinutes = [20, 20, 20, 60, 6.5 * 60, 20, 20, 25 * 60];

/** Every site has its first account again. Rows without an answer at another account wait for that one, so its owner connects it once more. */
export async function drain(scene: StormScene, workers: StormWorkers): Promise<void> {
  const { stack, sites } = scene;
  await stack.google.admin("DELETE", "/faults");
  for (const site of sites) {
    if (site.pausedUntil) await changePause(scene, site);
    await setRight(stack, site);
  }
  await comeToRest(scene, workers);
  for (const account of [1, 0] as const) {
    for (const site of sites) if (site.name === "moving") await setRight(stack, site, site.accounts[account]);
    await comeToRest(scene, workers);
  }
}

/** Works until nothing has moved for as long as anything may wait. */
async function comeToRest(scene: StormScene, workers: StormWorkers): Promise<void> {
  const { stack, sites } = scene;
  let still = 0;
  let before = "";
  for (let round = 0; still < stepMinutes.length; round++) {
    if (round === roundsMax) throw new Error(`The queue is still moving after ${roundsMax} rounds: ${before}`);
    for (const site of sites) if (site.method === "script") await runScript(scene, site, { mayDie: false });
    for (const work of ["recover", "cap", "deliver", "verdicts"] as const) await runWell(scene, workers, work);
    const now = await situation(scene);
    still = now === before ? still + 1 : 0;
    before = now;
    await stack.clock.advance(stepMinutes[round % stepMinutes.length] ?? 20);
  }
}

/** What waits for a person is done by one: corrections that no API makes, and rows that used up their attempts. */
export async function workAsPerson(scene: StormScene, workers: StormWorkers): Promise<void> {
  for (const site of scene.sites) await retryAll(scene, site);
  for (const site of scene.sites) await sendUnknownAgain(scene, site);
  await drain(scene, workers);
  for (const site of scene.sites) await workByHand(scene, site, 10_000);
  await drain(scene, workers); // what a correction by hand held back
  for (const site of scene.sites) await workByHand(scene, site, 10_000);
  await drain(scene, workers);
}

async function runWell({ stack }: StormScene, workers: StormWorkers, work: Order["work"]): Promise<void> {
  const result = await workers.run({ work, limit: 5000, offsetMs: stack.clock.offsetMs(), failpoint: null });
  if (result.end !== "done") throw new Error(`${work} ended without an answer: ${JSON.stringify(result)}`);
}

/** Anything that moves shows in one of these figures. */
async function situation({ stack }: StormScene): Promise<string> {
  const [figures] = await stack.sql()`
    select (select count(*)::int from public.queue_transitions) as transitions,
      (select count(*)::int from public.provider_requests where finished_at is null) as unanswered,
      (select count(*)::int from public.provider_dispatches where verdict is not null) as verdicts,
      (select count(*)::int from public.marketing_signals where dispatch_status in ('PENDING', 'PROCESSING')) as signals,
      (select count(*)::int from private.open_upload_batches) as batches,
      (select count(*)::int from public.provider_health_state where state <> 'CLOSED') as circuits`;
  const { waiting } = await stack.google.admin("GET", "/state");
  return JSON.stringify({ ...figures, waiting });
}
