import { env } from "#lib/env.ts";
import { log } from "#lib/platform/log.ts";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import type { Provider } from "#lib/providers/port.ts";
import { deferRows, deliverGroup, emptyTally, type Run, type Tally } from "./deliver-group.ts";
import { fairShare } from "./fair-share.ts";
import type { DeliveryGroup, Pipeline } from "./pipeline.ts";
import { sealPipeline, signalPipeline } from "./pipelines.ts";
import { sideBySide, startBudget } from "./run-budget.ts";

export interface RunOptions {
  /** Rows that may be claimed in this run. */
  limit: number;
  /** How long the run may take altogether. */
  deadlineMs: number;
  provider?: Provider;
  now?: () => Date;
}

export interface RunAnswer {
  ok: true;
  /** completed + failed + retry */
  processed: number;
  completed: number;
  failed: number;
  /** Sent without success, or deferred: circuit, semaphore, vault. */
  retry: number;
}

/** Groups at once when the global limit is switched off. */
const sideBySideMax = 25;
/** Due rows of a group that are deferred in one run while its circuit is open. */
const deferMax = 5000;
const circuitOpen = { code: "CIRCUIT_OPEN", message: "CIRCUIT_OPEN", jitterSeconds: 30 };

/** Delivers what is due: seals first, then signals with what is left of the limit. Any number of workers may do it at once. */
export async function processOfflineConversions(options: RunOptions): Promise<RunAnswer> {
  const { limit, deadlineMs, provider = googleAds(), now = () => new Date() } = options;
  const run = { provider, now, budget: startBudget(deadlineMs) };
  const seals = await deliver(sealPipeline, limit, run);
  const signals = await deliver(signalPipeline, limit - seals.claimed, run);
  const { completed, failed, retry } = sum([seals, signals]);
  return { ok: true, processed: completed + failed + retry, completed, failed, retry };
}

/** groups → circuit → fair share → (semaphore → claim → provider → settle) of each group. */
async function deliver(pipeline: Pipeline, limit: number, run: Run): Promise<Tally> {
  if (limit < 1 || !run.budget.mayClaim()) return emptyTally;
  const groups = await pipeline.listGroups();
  const deferred = await inTurn(pipeline, groups.filter(isOpen), (group) => deferOpen(pipeline, group));
  const shares = new Map(fairShare(groups, limit).map(({ group, rows }) => [group, rows]));
  const delivered = await inTurn(pipeline, [...shares.keys()], (group) => deliverGroup(pipeline, group, shares.get(group) ?? 0, run));
  return sum([...deferred, ...delivered]);
}

const isOpen = ({ state, isProbeDue }: DeliveryGroup) => state === "OPEN" && !isProbeDue;

async function deferOpen(pipeline: Pipeline, group: DeliveryGroup): Promise<Tally> {
  if (group.nextProbeAt === null) return emptyTally;
  return deferRows(pipeline, group, deferMax, { ...circuitOpen, until: new Date(group.nextProbeAt) });
}

/** As many groups at once as uploads may run. One that throws does not stop the others. */
function inTurn(pipeline: Pipeline, groups: DeliveryGroup[], work: (group: DeliveryGroup) => Promise<Tally>): Promise<Tally[]> {
  return sideBySide(groups, {
    max: env().CONCURRENCY_GLOBAL_PER_PROVIDER || sideBySideMax,
    work,
    onError: ({ siteUuid, providerKey }, error) => {
      log.error("group not delivered", { pipeline: pipeline.name, siteUuid, providerKey, error });
      return emptyTally;
    },
  });
}

function sum(tallies: Tally[]): Tally {
  return tallies.reduce(
    (total, tally) => ({
      claimed: total.claimed + tally.claimed,
      completed: total.completed + tally.completed,
      failed: total.failed + tally.failed,
      retry: total.retry + tally.retry,
    }),
    emptyTally,
  );
}
