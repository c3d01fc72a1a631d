"use client";

import { CircleCheck, CircleX, Hand } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { asLine, useCause } from "#components/delivery/use-cause.ts";
import { Button } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { cn } from "#components/ui/cn.ts";
import { EmptyState } from "#components/ui/empty-state.tsx";
import type { QueueCharts, QueueStats } from "#lib/oci/control-shapes.ts";
import type { ViewFilter } from "#lib/oci/control-view.ts";

interface CausesCardProps {
  causes: QueueCharts["failedNow"];
  stats: QueueStats;
  filter: ViewFilter;
  onFilter: (filter: ViewFilter) => void;
  onRetry: (filter: ViewFilter) => void;
}

const shownAtFirst = 4;

/** Why conversions failed, biggest group first. One press shows a group, one more acts on it. */
export function CausesCard({ causes, stats, filter, onFilter, onRetry }: CausesCardProps) {
  const t = useTranslations("oci.causesCard");
  const [all, setAll] = useState(false);
  const rest = causes.length > shownAtFirst && (
    <button type="button" className="link sm tap" aria-expanded={all} onClick={() => setAll(!all)}>
      {all ? t("fewer") : t("all", { count: causes.length })}
    </button>
  );
  return (
    <Card title={t("title")} note={t("now")} end={rest}>
      {causes.length === 0 ? (
        <EmptyState
          icon={CircleCheck}
          title={t("none")}
          action={stats.totals.COMPLETED > 0 && <Button onClick={() => onFilter({ status: "COMPLETED" })}>{t("showDelivered")}</Button>}
        >
          {t("noneBody", { count: stats.totals.COMPLETED })}
        </EmptyState>
      ) : (
        causes
          .slice(0, all ? causes.length : shownAtFirst)
          .map((cause) => <CauseLine key={cause.code + cause.category} {...cause} filter={filter} onFilter={onFilter} onRetry={onRetry} />)
      )}
    </Card>
  );
}

type LineProps = QueueCharts["failedNow"][number] & Pick<CausesCardProps, "filter" | "onFilter" | "onRetry">;

function CauseLine({ code, category, count, valueCents, filter, onFilter, onRetry }: LineProps) {
  const t = useTranslations("oci.causesCard");
  const format = useControlFormat();
  const { site, mayAct, blocked } = useControl();
  const { what, fix, helps } = useCause(site.ociSyncMethod)(code);
  const on = filter.errorCode === code && filter.status === "FAILED";
  const group: ViewFilter = { status: "FAILED", errorCode: code };
  const held = category === "AUTH" && blocked.size > 0;
  return (
    <div className={cn("cause", on && "on")}>
      <span className="n">{format.number(count)}</span>
      <div className="min-w-0">
        <div className="nm">
          {held ? <Hand className="i fg-blocked" /> : <CircleX className="i fg-failed" />}
          <span>{asLine(what)}</span>
        </div>
        <div className="cure">{`${format.sums(valueCents)} · ${fix}`}</div>
      </div>
      {on && mayAct && helps ? (
        <Button size="sm" onClick={() => onRetry(group)}>
          {t("retry", { count })}
        </Button>
      ) : (
        <Button size="sm" aria-pressed={on} onClick={() => onFilter(on ? {} : group)}>
          {t(on ? "showAll" : "show", { count })}
        </Button>
      )}
    </div>
  );
}
