"use client";

import Link from "next/link";
import { useTranslations } from "next-intl";
import { useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { isSilent, sumOfDays } from "#lib/oci/queue/day-span.ts";
import type { DeliveryDays } from "#lib/oci/queue/days.ts";

/** The span in four figures: sent, counted, without a verdict, rejected. */
export function DaysTotals({ report, rejectedHref }: { report: DeliveryDays; rejectedHref: string }) {
  const t = useTranslations("oci.days");
  const format = useControlFormat();
  const sum = sumOfDays(report.days);
  const silent = isSilent(sum);
  const counted = sum.confirmed + sum.duplicate;
  const figures = [
    { key: "sent", figure: sum.sent, sub: format.sums(sum.sentCents) },
    { key: "counted", figure: silent ? null : counted, sub: silent ? t("silent") : format.sums(sum.confirmedCents) },
    {
      key: "open",
      figure: sum.waiting + sum.unknown + sum.noVerdict,
      sub: t("openSub", { waiting: sum.waiting, none: sum.noVerdict + sum.unknown }),
    },
    { key: "rejected", figure: sum.rejected, sub: sum.sent > 0 ? t("share", { share: format.percent(sum.rejected / sum.sent) }) : "" },
  ] as const;
  return (
    <dl className="tiles four">
      {figures.map(({ key, figure, sub }) => (
        <div key={key} className="tile">
          <dt className="lab">{t(`totals.${key}`)}</dt>
          <dd className="fig">{figure === null ? "–" : format.number(figure)}</dd>
          <dd className="sub">{sub}</dd>
          {key === "rejected" && figure > 0 && (
            <dd className="sub">
              <Link className="link" href={rejectedHref}>
                {t("showRejected")}
              </Link>
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}
