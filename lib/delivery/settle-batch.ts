import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "#lib/platform/app-error.ts";
import { log } from "#lib/platform/log.ts";
import type { UploadResult } from "#lib/providers/port.ts";
import type { Claim, DeliveryGroup, Pipeline, QueuePlace, Settled, WholeAnswer } from "./pipeline.ts";
import type { RunBudget } from "./run-budget.ts";
import type { SentBatch } from "./send-batch.ts";

const firstPauseMs = 250;
const pauseMaxMs = 4_000;
/** For errors other than a missing database. Only a deadlock among them passes by itself. */
const triesMax = 3;

/**
 * Stores what became of a batch. If the database is down, tries again until the run's time is up. If it refuses the data, stores the outcomes
 * without their messages: a message never costs an outcome. Null when nothing was stored: recovery requeues the rows, and sending them again is
 * a duplicate at Google.
 */
export async function settleBatch(
  pipeline: Pipeline,
  group: DeliveryGroup,
  token: string,
  { budget, ...sent }: SentBatch & { budget: RunBudget },
): Promise<Settled | null> {
  let { results, facts } = sent;
  for (let tries = 1; ; tries++) {
    try {
      return await pipeline.settle(group, token, results, facts);
    } catch (error) {
      if (error instanceof AppError && error.code === "VALIDATION_FAILED") ({ results, facts } = withoutTexts(sent));
      const isAway = error instanceof AppError && error.code === "DATABASE_UNAVAILABLE";
      if (!budget.maySettle() || (!isAway && tries >= triesMax)) {
        log.error("batch not settled", { pipeline: pipeline.name, batchId: token, rows: results.length, tries, error });
        return null;
      }
      await sleep(Math.min(firstPauseMs * 2 ** (tries - 1), pauseMaxMs));
    }
  }
}

/**
 * Settles a batch and, if it arrived whole, claims the next one in the same call. What that call leaves, and what it does not take, is settled
 * by settleBatch. So is a batch whose call failed: nobody knows whether it was stored, nor what it claimed (`isLost`); recovery requeues that.
 */
export async function settleAndClaim(
  pipeline: Pipeline,
  group: DeliveryGroup,
  { token, jobs }: Pick<Claim, "token" | "jobs">,
  { limit, after, ...sent }: SentBatch & { budget: RunBudget; limit: number; after: QueuePlace | null },
): Promise<{ settled: Settled | null; claim?: Claim | null; isLost?: boolean }> {
  const answer = wholeAnswer(jobs, sent);
  let before = 0;
  let isLost = false;
  if (answer && pipeline.settleAndClaim) {
    try {
      const done = await pipeline.settleAndClaim(group, { token, answer, facts: sent.facts }, { limit, after });
      if (done.left === 0) return { settled: { completed: done.completed, failed: 0, retried: 0 }, claim: done.claim };
      before = done.completed;
    } catch (error) {
      isLost = true;
      log.error("batch not settled at once", { pipeline: pipeline.name, batchId: token, rows: jobs.length, error });
    }
  }
  const settled = await settleBatch(pipeline, group, token, sent);
  return { settled: settled && { ...settled, completed: settled.completed + before }, isLost };
}

/** The one answer to all rows, if there is one. */
function wholeAnswer(jobs: Claim["jobs"], { results, facts }: SentBatch): WholeAnswer | null {
  const [first] = results;
  const isSame = ({ status, transport, requestId, verdict }: UploadResult) =>
    status === "COMPLETED" && transport === first?.transport && requestId === first.requestId && verdict === first.verdict;
  if (!first || !results.every(isSame) || facts.quotaUntil || facts.block || facts.blockActions) return null;
  const { transport, requestId, verdict } = first;
  const isAsClaimed =
    results.length === jobs.length &&
    results.every(({ id, recordIndex }, place) => id === jobs[place]?.id && (recordIndex ?? place) === place);
  return {
    ...(!isAsClaimed && {
      rows: { ids: results.map(({ id }) => id), indexes: results.flatMap(({ recordIndex }) => recordIndex ?? []) },
    }),
    sent: { transport, ...(requestId && { requestId }), ...(verdict && { verdict }) },
  };
}

/** The outcomes alone. */
function withoutTexts({ results, facts }: SentBatch): SentBatch {
  const { block, blockActions, ...rest } = facts;
  return {
    results: results.map(({ message: _message, field: _field, ...result }) => result),
    facts: {
      ...rest,
      ...(block && { block: { ...block, message: "" } }),
      ...(blockActions && { blockActions: blockActions.map((action) => ({ ...action, message: "" })) }),
    },
  };
}
