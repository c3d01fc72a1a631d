import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "#lib/platform/app-error.ts";
import { log } from "#lib/platform/log.ts";
import type { DeliveryGroup, Pipeline, Settled } from "./pipeline.ts";
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
