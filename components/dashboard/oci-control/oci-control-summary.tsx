"use client";

import { Ban, CircleCheck, CircleX, Clock, Loader, type LucideIcon, RotateCw } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { Tile, tiles } from "#components/workbench/tile.tsx";
import type { QueueStats } from "#lib/oci/queue/stats.ts";
import { countOf, type ViewFilter, type viewStates } from "#lib/oci/queue/view.ts";
import { queueStatuses } from "#lib/oci/queue-types.ts";
import { useControl } from "./control-context.tsx";

type State = Exclude<(typeof viewStates)[number], "WAITING">;

const looks: Record<State, { icon: LucideIcon; tone: string }> = {
  QUEUED: { icon: Clock, tone: "text-queued" },
  RETRY: { icon: RotateCw, tone: "text-retry" },
  PROCESSING: { icon: Loader, tone: "text-processing" },
  COMPLETED: { icon: CircleCheck, tone: "text-completed" },
  FAILED: { icon: CircleX, tone: "text-failed" },
  NOT_SENT: { icon: Ban, tone: "text-unsent" },
};
const states: State[] = [...queueStatuses, "NOT_SENT"];

/** How many conversions are in each state. Each figure is a filter; pressing it again removes the filter. */
export function OciControlSummary({ filter }: { filter: ViewFilter }) {
  const t = useTranslations("oci.tiles");
  const word = useTranslations("states");
  const { stats, format, filterBy } = useControl();
  const { stuckProcessing, oldestWaitingAt } = stats;
  const notes = useNotes();
  const { status: _, stuck: __, waitingForDelay: ___, ...others } = filter;
  const press = (isPressed: boolean, target: ViewFilter) => filterBy(isPressed ? others : { ...others, ...target });
  const waiting = countOf(stats, "WAITING");
  return (
    <fieldset className={tiles({ count: 7 })} aria-label={t("label")}>
      {states.map((status) => {
        // The figure that has stuck rows leads to them first: they are what somebody must look at.
        const target: ViewFilter = status === "PROCESSING" && stuckProcessing > 0 ? { stuck: "true" } : { status };
        const isPressed = filter.status === status || (status === "PROCESSING" && filter.stuck === "true");
        return (
          <Tile
            key={status}
            {...looks[status]}
            name={word(status)}
            figure={format.number(countOf(stats, status))}
            note={notes[status]}
            isPressed={isPressed}
            onPress={() => press(isPressed, target)}
          />
        );
      })}
      <Tile
        name={t("value")}
        figure={format.sums(stats.valueWaitingCents)}
        note={waiting > 0 && oldestWaitingAt && t("waiting", { count: waiting, age: format.age(oldestWaitingAt) })}
        isPressed={filter.status === "WAITING"}
        onPress={() => press(filter.status === "WAITING", { status: "WAITING" })}
      />
    </fieldset>
  );
}

/** What stands below each figure. */
function useNotes(): Record<State, ReactNode> {
  const t = useTranslations("oci.tiles");
  const { stats, format, blocked, now } = useControl();
  const { totals, stuckProcessing, failedRatio } = stats;
  const ended = totals.COMPLETED + countOf(stats, "FAILED");
  const held = stats.perProvider.filter(({ provider }) => blocked.has(provider)).reduce((sum, { totals: { QUEUED } }) => sum + QUEUED, 0);
  const isStopped = stats.blockedActions.length > 0 || stats.missingActions.length > 0;
  const rejected = stats.rejectedCauses.reduce((sum, { count }) => sum + count, 0);
  const isManual = stats.waitingByHand >= countOf(stats, "WAITING");
  const waits = (status: "QUEUED" | "RETRY") => {
    if (totals[status] === 0) return null;
    if (stats.nextDueAt[status] === null) return t(isManual ? "manual" : "later");
    const due = nextTime(stats, status, now);
    return due ? t("next", { time: format.moment(due) }) : !isStopped && t("ready", { count: totals[status] });
  };
  const delivered = { share: format.percent((totals.COMPLETED - rejected) / ended), count: rejected };
  return {
    QUEUED: held > 0 ? <span className="font-medium text-blocked">{t("blocked", { count: held })}</span> : waits("QUEUED"),
    RETRY: waits("RETRY"),
    PROCESSING: stuckProcessing > 0 && <span className="font-medium text-stuck">{t("stuck", { count: stuckProcessing })}</span>,
    COMPLETED: ended > 0 && t(rejected > 0 ? "deliveredRejected" : "delivered", delivered),
    FAILED: failedRatio !== null && t("share", { share: format.percent(failedRatio), count: format.number(ended) }),
    NOT_SENT: stats.notSent > 0 && t("notSent"),
  };
}

/** When the next row of a state goes, if not at once: its own time, the owner's pause, Google's limit or the next probe, whichever is last. */
function nextTime({ nextDueAt, quotaUntil, pause, circuit }: QueueStats, status: "QUEUED" | "RETRY", now: Date): string | null {
  const times = [nextDueAt[status], quotaUntil, pause?.until, circuit?.nextProbeAt]
    .filter((time) => time != null)
    .map((time) => Date.parse(time));
  const last = Math.max(...times, 0);
  return last > now.getTime() ? new Date(last).toISOString() : null;
}
