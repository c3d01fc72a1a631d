"use client";

import { CircleCheck, CircleX, Clock, Loader, type LucideIcon, RotateCw } from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { rightlyNotSent } from "#lib/oci/queue/row-state.ts";
import type { QueueStats } from "#lib/oci/queue/stats.ts";
import type { ViewFilter } from "#lib/oci/queue/view.ts";

interface SummaryProps {
  stats: QueueStats;
  filter: ViewFilter;
  onFilter: (filter: ViewFilter) => void;
}

const looks: Record<keyof QueueStats["totals"], { icon: LucideIcon; tone: string }> = {
  QUEUED: { icon: Clock, tone: "fg-queued" },
  RETRY: { icon: RotateCw, tone: "fg-retry" },
  PROCESSING: { icon: Loader, tone: "fg-processing" },
  COMPLETED: { icon: CircleCheck, tone: "fg-completed" },
  FAILED: { icon: CircleX, tone: "fg-failed" },
};

/** Where every conversion stands. Each figure is a filter; pressed again it lets go. */
export function OciControlSummary({ stats, filter, onFilter }: SummaryProps) {
  const t = useTranslations("oci.tiles");
  const format = useControlFormat();
  const { blocked, now } = useControl();
  const { totals, stuckProcessing, failedRatio, oldestWaitingAt } = stats;
  const { status: _, stuck: __, waitingForDelay: ___, ...others } = filter;
  const skipped = rightlyNotSent(stats);
  const ended = totals.COMPLETED + totals.FAILED - skipped;
  const held = stats.perProvider.filter(({ provider }) => blocked.has(provider)).reduce((sum, { totals: { QUEUED } }) => sum + QUEUED, 0);
  const isStopped = stats.blockedActions.length > 0 || stats.missingActions.length > 0;
  const rejected = stats.rejectedCauses.reduce((sum, { count }) => sum + count, 0);
  const waits = (status: "QUEUED" | "RETRY") => {
    if (stats.nextDueAt[status] === null) return t("manual");
    const due = nextTime(stats, status, now);
    return due ? t("next", { time: format.moment(due) }) : !isStopped && t("ready");
  };
  const subs: Record<keyof typeof looks, ReactNode> = {
    QUEUED: held > 0 ? <span className="fg-blocked med">{t("blocked", { count: held })}</span> : totals.QUEUED > 0 && waits("QUEUED"),
    RETRY: totals.RETRY > 0 && waits("RETRY"),
    PROCESSING: stuckProcessing > 0 && <span className="fg-stuck med">{t("stuck", { count: stuckProcessing })}</span>,
    COMPLETED:
      ended > 0 &&
      t(rejected > 0 ? "deliveredRejected" : "delivered", {
        share: format.percent((totals.COMPLETED - rejected) / ended),
        count: rejected,
      }),
    FAILED:
      failedRatio !== null &&
      t(skipped > 0 ? "shareAndNotSent" : "share", { share: format.percent(failedRatio), count: format.number(ended), skipped }),
  };
  return (
    <fieldset className="tiles" aria-label={t("label")}>
      {(Object.keys(looks) as (keyof typeof looks)[]).map((status) => {
        // The figure that has stuck rows leads to them first: they are what somebody must look at.
        const target: ViewFilter = status === "PROCESSING" && stuckProcessing > 0 ? { stuck: "true" } : { status };
        const pressed = filter.status === status || (status === "PROCESSING" && filter.stuck === "true");
        return (
          <Tile
            key={status}
            {...looks[status]}
            label={t(status)}
            figure={format.number(totals[status])}
            sub={subs[status]}
            pressed={pressed}
            onPress={() => onFilter(pressed ? others : { ...others, ...target })}
          />
        );
      })}
      <Tile
        label={t("value")}
        figure={format.sums(stats.valueWaitingCents)}
        sub={oldestWaitingAt && t("oldest", { age: format.age(oldestWaitingAt) })}
        pressed={filter.waitingForDelay === "true"}
        onPress={() => onFilter(filter.waitingForDelay ? others : { ...others, waitingForDelay: "true" })}
      />
    </fieldset>
  );
}

/** When the next row of a state goes, if not at once: its own time, Google's limit or the next probe, whichever is last. */
function nextTime({ nextDueAt, quotaUntil, circuit }: QueueStats, status: "QUEUED" | "RETRY", now: Date): string | null {
  const times = [nextDueAt[status], quotaUntil, circuit?.nextProbeAt].filter((time) => time != null).map((time) => Date.parse(time));
  const last = Math.max(...times, 0);
  return last > now.getTime() ? new Date(last).toISOString() : null;
}

interface TileProps {
  label: string;
  figure: string;
  sub: ReactNode;
  icon?: LucideIcon;
  tone?: string;
  pressed: boolean;
  onPress: () => void;
}

function Tile({ label, figure, sub, icon: Icon, tone, pressed, onPress }: TileProps) {
  return (
    <button type="button" className="tile" aria-pressed={pressed} onClick={onPress}>
      <span className={`lab ${tone ?? ""}`}>{label}</span>
      <span className="fig">
        {Icon && <Icon className={`i ${tone}`} />}
        {figure}
      </span>
      <span className="sub">{sub}</span>
    </button>
  );
}
