import { setTimeout as sleep } from "node:timers/promises";
import { AppError } from "#lib/platform/app-error.ts";
import { log } from "#lib/platform/log.ts";
import type { DeliveryGroup, Pipeline, Settled } from "./pipeline.ts";
import type { RunBudget } from "./run-budget.ts";
import type { SentBatch } from "./send-batch.ts";

const firstPauseMs = 250;
const pauseMaxMs = 4_000;
/** Of errors other than a missing database: one of them is a deadlock at worst, the rest does not pass by itself. */
const triesMax = 3;

/**
 * Stores what became of a batch. A database that is away is asked again until the run's time is up. One that refuses the data is told the
 * outcomes without what was said about them: a message never costs an outcome. Null when it was not stored: recovery brings the rows back,
 * and sending them again is a duplicate at Google.
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
