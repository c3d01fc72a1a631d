import { causeOf } from "./causes.ts";
import type { QueueStats } from "./control-shapes.ts";

type Failed = QueueStats["failedCauses"][number];

/** Failed, and somebody must decide. What was rightly not sent, what nobody can mend and what a person gave up asks nobody any more. */
export function asksSomebody({ code, category }: Pick<Failed, "code" | "category">): boolean {
  const { name, fixer } = causeOf(code);
  return category !== "DETERMINISTIC_SKIP" && fixer !== "nobody" && name !== "givenUp";
}

/** How many were rightly not sent: the sale was cancelled, a later value took its place. They are stored as FAILED and are no failure. */
export const rightlyNotSent = ({ failedCauses }: Pick<QueueStats, "failedCauses">) =>
  failedCauses.filter(({ category }) => category === "DETERMINISTIC_SKIP").reduce((sum, { count }) => sum + count, 0);

/** How many conversions need a person: failures and rejections that ask somebody, stuck ones, and corrections that are made by hand. */
export const needsPerson = ({
  failedCauses,
  rejectedCauses,
  stuckProcessing,
  waitingByHand,
}: Pick<QueueStats, "failedCauses" | "rejectedCauses" | "stuckProcessing" | "waitingByHand">) =>
  [...failedCauses, ...rejectedCauses].filter(asksSomebody).reduce((sum, { count }) => sum + count, 0) + stuckProcessing + waitingByHand;
