"use client";

import { CircleCheck, CircleX, Hand } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { asLine } from "#components/delivery/use-cause.ts";
import { Button } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { cn } from "#components/ui/cn.ts";
import { EmptyState } from "#components/ui/empty-state.tsx";
import type { QueueCharts } from "#lib/oci/queue/charts.ts";
import type { ViewFilter } from "#lib/oci/queue/view.ts";

interface CausesCardProps {
  causes: QueueCharts["failedNow"];
  filter: ViewFilter;
  onRetry: (filter: ViewFilter) => void;
}

const shownAtFirst = 4;

/** Why conversions failed, biggest group first. One press shows a group, one more acts on it. */
export function CausesCard({ causes, filter, onRetry }: CausesCardProps) {
  const t = useTranslations("oci.causesCard");
  const { stats, filterBy } = useControl();
  const [isAll, setAll] = useState(false);
  const count = stats.totals.COMPLETED;
  const rest = causes.length > shownAtFirst && (
    <button type="button" className="link tap text-sm" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
      {isAll ? t("fewer") : t("all", { count: causes.length })}
    </button>
  );
  return (
    <Card title={t("title")} note={t("now")} end={rest}>
      {causes.length === 0 ? (
        <EmptyState
          icon={CircleCheck}
          title={t("none")}
          action={count > 0 && <Button onClick={() => filterBy({ status: "COMPLETED" })}>{t("showDelivered")}</Button>}
        >
          {t("noneBody", { count })}
        </EmptyState>
      ) : (
        causes
          .slice(0, isAll ? causes.length : shownAtFirst)
          .map((cause) => <CauseLine key={cause.code + cause.category} cause={cause} filter={filter} onRetry={onRetry} />)
      )}
    </Card>
  );
}

/** On a phone below the words, which need the width. */
const place = "max-desk:col-start-2 max-desk:justify-self-start";

type LineProps = Pick<CausesCardProps, "filter" | "onRetry"> & { cause: QueueCharts["failedNow"][number] };

function CauseLine({ cause: { code, category, count, valueCents }, filter, onRetry }: LineProps) {
  const t = useTranslations();
  const { format, mayAct, blocked, causeOf, filterBy } = useControl();
  const { what, fix, helps } = causeOf(code);
  const isOn = filter.errorCode === code && filter.status === "FAILED";
  const group: ViewFilter = { status: "FAILED", errorCode: code };
  const [Icon, tone] = category === "AUTH" && blocked.size > 0 ? [Hand, "text-blocked"] : [CircleX, "text-failed"];
  return (
    <div
      className={cn(
        "grid grid-cols-[minmax(22px,auto)_minmax(0,1fr)_auto] items-center gap-x-2.5 border-b border-line-1 px-4 py-2.25 last:border-b-0 max-desk:grid-cols-[minmax(22px,auto)_minmax(0,1fr)] max-desk:gap-y-2.5 max-desk:py-3",
        isOn ? "bg-accent-soft" : "hover:bg-surface-2",
      )}
    >
      <span className="self-start text-lg leading-4.5 font-semibold">{format.number(count)}</span>
      <div className="min-w-0">
        <div className="flex min-w-0 items-start gap-1.75 text-sm font-medium">
          <Icon className={cn("mt-0.5 size-3.5 stroke-2", tone)} />
          <span>{asLine(what)}</span>
        </div>
        <div className={cn("mt-px text-xs max-desk:mt-0.75 max-desk:text-sm", isOn ? "text-support" : "text-meta")}>
          {`${format.sums(valueCents)} · ${fix}`}
        </div>
      </div>
      {isOn && mayAct && helps ? (
        <Button size="sm" className={place} onClick={() => onRetry(group)}>
          {t("oci.causesCard.retry", { count })}
        </Button>
      ) : (
        <Button size="sm" className={place} aria-pressed={isOn} onClick={() => filterBy(isOn ? {} : group)}>
          {isOn ? t("actions.showAll") : t("actions.show", { count })}
        </Button>
      )}
    </div>
  );
}
