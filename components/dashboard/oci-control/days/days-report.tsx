"use client";

import { CloudOff, Send } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import { useControl } from "#components/dashboard/oci-control/context/control-context.tsx";
import { fetchDays } from "#components/dashboard/oci-control/live/control-api.ts";
import { Button } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { Skeleton, SkeletonRows } from "#components/ui/skeleton.tsx";
import type { DeliveryDays } from "#lib/oci/queue/days.ts";
import type { ViewFilter, ViewSpan } from "#lib/oci/queue/view.ts";
import { DaysChart } from "./days-chart.tsx";
import { DaysTable } from "./days-table.tsx";
import { DaysTotals } from "./days-totals.tsx";
import { SpanChoice } from "./span-choice.tsx";
import { spanDays } from "./span-days.ts";

interface DaysReportProps {
  span: ViewSpan;
  onSpan: (span: ViewSpan) => void;
  /** The address of the list with these filters. */
  linkTo: (filter: ViewFilter) => string;
}

/** What we sent against what Google says of it, day by day. The span stands in the address. */
export function DaysReport({ span, onSpan, linkTo }: DaysReportProps) {
  const t = useTranslations("oci.days");
  const { site, now } = useControl();
  const { from, to } = spanDays(span, site.timezone, now);
  const [report, setReport] = useState<DeliveryDays | "loading" | "failed">("loading");
  const [asked, setAsked] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `asked` is the press on "try again"
  useEffect(() => {
    let current = true;
    fetchDays(site.publicId, { from, to }).then((answer) => current && setReport(answer ?? "failed"));
    return () => {
      current = false;
    };
  }, [site.publicId, from, to, asked]);
  const choice = <SpanChoice span={span} from={from} to={to} onSpan={onSpan} />;
  if (report === "failed") {
    const again = <Button onClick={() => setAsked(asked + 1)}>{t("again")}</Button>;
    return (
      <Card title={t("title")} end={choice}>
        <EmptyState icon={CloudOff} title={t("failed")} action={again}>
          {t("failedBody")}
        </EmptyState>
      </Card>
    );
  }
  if (report === "loading") {
    return (
      <Card title={t("title")} end={choice}>
        <div role="status" className="card-b">
          <span className="sr">{t("loading")}</span>
          <Skeleton width="100%" height={150} />
          <SkeletonRows count={6} height={40} />
        </div>
      </Card>
    );
  }
  /** The conversions that Google rejected of those sent in these days: the same as the figure counts. */
  const rejectedHref = (first: string, last: string) => linkTo({ verdict: "REJECTED", kind: "CONVERSION", sentFrom: first, sentTo: last });
  const adsApi = report.days.reduce((sum, { sent }) => sum + sent.ads_api, 0);
  return (
    <>
      <DaysTotals report={report} rejectedHref={rejectedHref(report.from, report.to)} />
      <Card title={t("title")} end={choice}>
        {report.days.length === 0 ? (
          <EmptyState icon={Send} title={t("empty")}>
            {t("emptyBody")}
          </EmptyState>
        ) : (
          <>
            <DaysChart key={`${report.from}-${report.to}`} report={report} />
            <DaysTable report={report} rejectedHref={rejectedHref} />
            {adsApi > 0 && <p className="card-b sm t2">{t("adsApi", { count: adsApi })}</p>}
          </>
        )}
      </Card>
    </>
  );
}
