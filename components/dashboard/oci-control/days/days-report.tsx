"use client";

import { Send } from "lucide-react";
import Link from "next/link";
import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { Card, CardBody } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { BarChart } from "#components/workbench/chart/bar-chart.tsx";
import { FactTiles } from "#components/workbench/tile.tsx";
import { type DaySum, isSilent, sumByDay, sumOfDays } from "#lib/oci/queue/day-span.ts";
import type { DeliveryDays } from "#lib/oci/queue/days.ts";
import type { ViewFilter, ViewSpan } from "#lib/oci/queue/view.ts";
import { DaysTable } from "./days-table.tsx";
import { SpanChoice } from "./span-choice.tsx";

interface DaysReportProps {
  report: DeliveryDays;
  span: ViewSpan;
  onSpan: (span: ViewSpan) => void;
  /** The address of the list with these filters. */
  linkTo: (filter: ViewFilter) => string;
}

/** What we sent against what Google says of it, day by day. The span stands in the address. */
export function DaysReport({ report, span, onSpan, linkTo }: DaysReportProps) {
  const t = useTranslations("oci.days");
  /** The conversions that Google rejected of those sent in these days: the same as the figure counts. */
  const rejectedHref = (first: string, last: string) => linkTo({ verdict: "REJECTED", kind: "CONVERSION", sentFrom: first, sentTo: last });
  const adsApi = report.days.reduce((sum, { sent }) => sum + sent.ads_api, 0);
  return (
    <>
      <Totals report={report} rejectedHref={rejectedHref(report.from, report.to)} />
      <Card title={t("title")} end={<SpanChoice span={span} from={report.from} to={report.to} onSpan={onSpan} />}>
        {report.days.length === 0 ? (
          <EmptyState icon={Send} title={t("empty")}>
            {t("emptyBody")}
          </EmptyState>
        ) : (
          <>
            <DaysChart key={`${report.from}-${report.to}`} report={report} />
            <DaysTable report={report} rejectedHref={rejectedHref} />
            {adsApi > 0 && <CardBody className="text-sm text-support">{t("adsApi", { count: adsApi })}</CardBody>}
          </>
        )}
      </Card>
    </>
  );
}

/** The span in four figures: sent, counted, without a verdict, rejected. */
function Totals({ report, rejectedHref }: { report: DeliveryDays; rejectedHref: string }) {
  const t = useTranslations();
  const { format } = useControl();
  const sum = sumOfDays(report.days);
  const silent = isSilent(sum);
  const none = sum.noVerdict + sum.unknown;
  const facts = [
    { key: "states.sent", figure: format.number(sum.sent), note: format.sums(sum.sentCents) },
    {
      key: "oci.days.counted",
      figure: silent ? "–" : format.number(sum.confirmed + sum.duplicate),
      note: silent ? t("oci.days.silent") : format.sums(sum.confirmedCents),
    },
    { key: "oci.days.open", figure: format.number(sum.waiting + none), note: t("oci.days.openSub", { waiting: sum.waiting, none }) },
    {
      key: "states.REJECTED",
      figure: format.number(sum.rejected),
      note: sum.sent > 0 ? t("oci.days.share", { share: format.percent(sum.rejected / sum.sent) }) : "",
      link: sum.rejected > 0 && (
        <Link className="link" href={rejectedHref}>
          {t("oci.days.showRejected")}
        </Link>
      ),
    },
  ] as const;
  return <FactTiles facts={facts.map((fact) => ({ ...fact, name: t(fact.key) }))} />;
}

/** What Google says of a day's conversions, from below: counted, no verdict given, verdict expected, rejected. Together they are what was sent. */
const series = [
  ["oci.days.counted", "bg-completed-mark fill-completed-mark", ({ confirmed, duplicate }: DaySum) => confirmed + duplicate],
  ["oci.days.noVerdict", "bg-queued-mark fill-queued-mark", ({ unknown, noVerdict }: DaySum) => unknown + noVerdict],
  ["oci.days.waiting", "bg-processing-mark fill-processing-mark", ({ waiting }: DaySum) => waiting],
  ["states.REJECTED", "bg-failed-mark fill-failed-mark", ({ rejected }: DaySum) => rejected],
] as const;

function DaysChart({ report }: { report: DeliveryDays }) {
  const t = useTranslations();
  const { format } = useControl();
  const days = sumByDay(report);
  const words = (index: number) => {
    const sum = days[index];
    if (!sum) return "";
    const [counted = 0, none = 0, waiting = 0, rejected = 0] = series.map(([, , value]) => value(sum));
    return t("oci.days.tip", { day: format.day(sum.day), sent: sum.sent, counted, none, waiting, rejected });
  };
  return (
    <BarChart
      bars={days.map((sum) => ({ key: sum.day, parts: series.map(([, mark, value]) => ({ mark, value: value(sum) })) }))}
      pick={t("oci.days.pick")}
      words={words}
      label={(index) => format.day(days[index]?.day ?? report.to)}
      legend={series.map(([name, mark]) => ({ mark, name: t(name) }))}
    />
  );
}
