import { causeOf } from "./causes.ts";
import type { QueueStats } from "./control-shapes.ts";

type Failed = QueueStats["failedCauses"][number];

/** Failed, and somebody can do something about it. What was rightly not sent, and what nobody can mend, asks nobody. */
export const canBeMended = ({ code, category }: Pick<Failed, "code" | "category">) =>
  category !== "DETERMINISTIC_SKIP" && causeOf(code).fixer !== "nobody";

/** How many were rightly not sent: the sale was cancelled, a later value took its place. They are stored as FAILED and are no failure. */
export const rightlyNotSent = ({ failedCauses }: Pick<QueueStats, "failedCauses">) =>
  failedCauses.filter(({ category }) => category === "DETERMINISTIC_SKIP").reduce((sum, { count }) => sum + count, 0);

/** How many conversions need a person: failures that can be mended, stuck ones, and corrections that are made by hand. */
export const needsPerson = ({
  failedCauses,
  stuckProcessing,
  waitingByHand,
}: Pick<QueueStats, "failedCauses" | "stuckProcessing" | "waitingByHand">) =>
  failedCauses.filter(canBeMended).reduce((sum, { count }) => sum + count, 0) + stuckProcessing + waitingByHand;
