import { AppError } from "#lib/platform/app-error.ts";
import { log } from "#lib/platform/log.ts";
import type { Provider, ProviderConnection } from "#lib/providers/port.ts";
import { openConnection } from "./connection.ts";
import type { Deferral, DeliveryGroup, Pipeline } from "./pipeline.ts";
import type { RunBudget } from "./run-budget.ts";
import { acquireSlot, whileHolding } from "./semaphore.ts";
import { sendBatch } from "./send-batch.ts";
import { settleBatch } from "./settle-batch.ts";

/** What became of a group's rows in this run. */
export interface Tally {
  claimed: number;
  completed: number;
  failed: number;
  /** Sent without success, or deferred. */
  retry: number;
}

export const emptyTally: Tally = { claimed: 0, completed: 0, failed: 0, retry: 0 };

export interface Run {
  provider: Provider;
  budget: RunBudget;
  now(): Date;
}

/** As many as one claim hands out. */
const batchMax = 1000;

const concurrencyLimit = { code: "CONCURRENCY_LIMIT", message: "CONCURRENCY_LIMIT: Semaphore full", waitSeconds: 30, jitterSeconds: 10 };
const credentialsWait = { waitSeconds: 600, jitterSeconds: 60 };

/** One group's turn: semaphore, credentials, then claim, send and settle until its share is used up. */
export async function deliverGroup(pipeline: Pipeline, group: DeliveryGroup, share: number, run: Run): Promise<Tally> {
  const slot = await acquireSlot(group.siteUuid, group.providerKey);
  if (!slot) return deferRows(pipeline, group, share, wait(run, concurrencyLimit));
  return whileHolding(slot, async () => {
    try {
      const connection = await openConnection(group.siteUuid, group.providerKey);
      return connection ? await deliverShare(pipeline, group, share, { ...run, connection }) : emptyTally;
    } catch (error) {
      if (!isCredentialsError(error)) throw error;
      log.error("credentials not opened", { pipeline: pipeline.name, siteUuid: group.siteUuid, error });
      return deferRows(pipeline, group, share, wait(run, { ...credentialsWait, code: error.code, message: error.message }));
    }
  });
}

async function deliverShare(
  pipeline: Pipeline,
  group: DeliveryGroup,
  share: number,
  run: Run & { connection: ProviderConnection },
): Promise<Tally> {
  const tally = { ...emptyTally };
  while (tally.claimed < share && run.budget.mayClaim()) {
    const claim = await pipeline.claim(group, Math.min(share - tally.claimed, batchMax));
    if (claim.jobs.length === 0) break;
    tally.claimed += claim.jobs.length;
    const connection = await currentConnection(run.connection, claim.credentialsVersion, group);
    const { providerKey } = group;
    const sent = await sendBatch(claim, { ...run, connection, providerKey, signal: run.budget.uploadSignal });
    const settled = await settleBatch(pipeline, group, claim.token, { ...sent, budget: run.budget });
    tally.completed += settled?.completed ?? 0;
    tally.failed += settled?.failed ?? 0;
    tally.retry += settled?.retried ?? 0;
    // Nothing more in this run after a failure or a block; a probe is one batch.
    if (!settled || sent.facts.outcome === "transient" || sent.facts.block || sent.facts.quotaUntil || claim.gate !== "CLOSED") break;
  }
  return tally;
}

/** Somebody may have connected another account since the credentials were read; rows were claimed for the account of now. */
async function currentConnection(known: ProviderConnection, version: number | null, { siteUuid, providerKey }: DeliveryGroup) {
  if (version === null || version === known.version) return known;
  return (await openConnection(siteUuid, providerKey).catch(() => null)) ?? known;
}

/** Lets up to so many due rows wait; no attempt is spent, and it does not count as the provider's failure. */
export async function deferRows(pipeline: Pipeline, group: DeliveryGroup, limit: number, deferral: Deferral): Promise<Tally> {
  const retry = await pipeline.defer(group, limit, deferral);
  if (retry > 0) log.info("rows deferred", { pipeline: pipeline.name, siteUuid: group.siteUuid, code: deferral.code, rows: retry });
  return { ...emptyTally, retry };
}

function wait(run: Run, { waitSeconds, ...why }: { waitSeconds: number; jitterSeconds: number; code: string; message: string }): Deferral {
  return { ...why, until: new Date(run.now().getTime() + waitSeconds * 1000) };
}

const credentialsErrors: readonly string[] = ["VAULT_KEY_MISMATCH", "VAULT_KEY_MISSING", "CREDENTIALS_UNREADABLE"];
const isCredentialsError = (error: unknown): error is AppError => error instanceof AppError && credentialsErrors.includes(error.code);
