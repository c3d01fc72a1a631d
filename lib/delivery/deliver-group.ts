import { AppError } from "#lib/platform/app-error.ts";
import { log } from "#lib/platform/log.ts";
import type { Provider, ProviderConnection } from "#lib/providers/port.ts";
import { openConnection } from "./connection.ts";
import type { Claim, Deferral, DeliveryGroup, Pipeline, QueuePlace } from "./pipeline.ts";
import type { RunBudget } from "./run-budget.ts";
import { acquireSlot, type Slot, whileHolding } from "./semaphore.ts";
import { notSent, type SentBatch, sendBatch } from "./send-batch.ts";
import { settleAndClaim } from "./settle-batch.ts";

/** The outcomes of a group's rows in this run. */
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
const credentialsChanged = { code: "CREDENTIALS_CHANGED", message: "The connection changed while the rows were claimed." };

/** One group's turn: semaphore, credentials, then claim, send and settle until its share is used up. */
export async function deliverGroup(pipeline: Pipeline, group: DeliveryGroup, share: number, run: Run): Promise<Tally> {
  const slot = await acquireSlot(group.siteUuid, group.providerKey);
  if (!slot) return deferRows(pipeline, group, share, wait(run, concurrencyLimit));
  return whileHolding(slot, async () => {
    try {
      const connection = await openConnection(group.siteUuid, group.providerKey);
      return connection ? await deliverShare(pipeline, group, share, { ...run, connection, slot }) : emptyTally;
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
  run: Run & { connection: ProviderConnection; slot: Slot },
): Promise<Tally> {
  const tally = { ...emptyTally };
  const nextLimit = () => (run.budget.mayClaim() ? Math.min(share - tally.claimed, batchMax) : 0);
  const placeAfter = startPlaces();
  let limit = nextLimit();
  let claim = limit > 0 ? await pipeline.claim(group, limit) : null;
  while (claim && claim.jobs.length > 0) {
    tally.claimed += claim.jobs.length;
    const after = placeAfter(claim, limit);
    const sent = await sendClaim(claim, group, run);
    limit = mayGoOn(claim, sent) ? nextLimit() : 0;
    if (limit > 0 && !(await run.slot.renew())) limit = 0; // another worker may have the slot by now
    const done = await settleAndClaim(pipeline, group, claim, { ...sent, budget: run.budget, limit, after });
    tally.completed += done.settled?.completed ?? 0;
    tally.failed += done.settled?.failed ?? 0;
    tally.retry += done.settled?.retried ?? 0;
    if (!done.settled || limit === 0 || done.isLost) break;
    const isOver = done.claim?.jobs.length === 0 && after === null;
    claim = isOver || done.claim?.jobs.length ? (done.claim ?? null) : await pipeline.claim(group, limit);
  }
  return tally;
}

/** From the start of the queue again after this long: rows that came back, or were committed late, lie before the place of the last claim. */
const restartMs = 5_000;

/** Where the next claim goes on: after a full one where it ended, after a short one and now and then from the start. */
function startPlaces(): (claim: Claim, limit: number) => QueuePlace | null {
  let startedAt = performance.now();
  return (claim, limit) => {
    if (claim.last && claim.jobs.length >= limit && performance.now() - startedAt < restartMs) return claim.last;
    startedAt = performance.now();
    return null;
  };
}

/** Nothing more in this run after a failure, a wait or a block; a probe is one batch. */
function mayGoOn(claim: Claim, { facts }: SentBatch): boolean {
  const { outcome, block, quotaUntil } = facts;
  return claim.gate === "CLOSED" && outcome !== "transient" && outcome !== "none" && !block && !quotaUntil;
}

/** Rows were claimed for the account of the claim's version: without exactly those credentials nothing is sent. */
async function sendClaim(claim: Claim, group: DeliveryGroup, run: Run & { connection: ProviderConnection }): Promise<SentBatch> {
  const { providerKey } = group;
  const opened = await connectionOf(claim, group, run.connection);
  if ("code" in opened) return notSent(claim, { ...wait(run, { ...credentialsWait, ...opened }), providerKey });
  return sendBatch(claim, { ...run, connection: opened, providerKey, signal: run.budget.uploadSignal });
}

/** The claim's own credentials, or why there are none. Somebody may have connected another account since they were read. */
async function connectionOf(
  claim: Claim,
  { siteUuid, providerKey }: DeliveryGroup,
  known: ProviderConnection,
): Promise<ProviderConnection | typeof credentialsChanged> {
  if (claim.credentialsVersion === known.version) return known;
  try {
    const current = await openConnection(siteUuid, providerKey);
    return current?.version === claim.credentialsVersion ? current : credentialsChanged;
  } catch (error) {
    log.error("credentials of a claim not opened", { siteUuid, batchId: claim.token, error });
    return isCredentialsError(error) ? { code: error.code, message: error.message } : credentialsChanged;
  }
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
