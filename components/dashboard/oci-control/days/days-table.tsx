"use client";

import Link from "next/link";
import { useTranslations } from "next-intl";
import { useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { isSilent, sumByDay } from "#lib/oci/queue/day-span.ts";
import type { DeliveryDays } from "#lib/oci/queue/days.ts";

interface DaysTableProps {
  report: DeliveryDays;
  /** The list of what Google rejected of the conversions sent from one day to another. */
  rejectedHref: (first: string, last: string) => string;
}

/** The same days as figures, newest first. Days on which nothing was sent are left out. */
export function DaysTable({ report, rejectedHref }: DaysTableProps) {
  const t = useTranslations("oci.days");
  const format = useControlFormat();
  const days = sumByDay(report)
    .filter(({ sent, adjusted }) => sent + adjusted > 0)
    .reverse();
  const numbers = ["sent", "counted", "waiting", "noVerdict", "rejected"] as const;
  const columns = [
    { key: "day", header: t("day"), width: "110px" },
    ...numbers.map((key) => ({
      key,
      header: t(`columns.${key}`),
      align: "end" as const,
      ...(key === "noVerdict" && { priority: 3 as const }),
    })),
    { key: "adjusted", header: t("columns.adjusted"), align: "end" as const, priority: 3 as const },
    { key: "sentValue", header: t("columns.sentValue"), align: "end" as const, priority: 2 as const },
    { key: "countedValue", header: t("columns.countedValue"), align: "end" as const },
  ];
  return (
    <Table label={t("title")} columns={columns}>
      {days.map((sum) => (
        <tr key={sum.day}>
          <Cell at="main">{format.day(sum.day)}</Cell>
          <Cell at="wide" className="phone-only t2">
            {t("line", {
              sent: sum.sent,
              counted: sum.confirmed + sum.duplicate,
              none: sum.unknown + sum.noVerdict,
              waiting: sum.waiting,
              rejected: sum.rejected,
            })}{" "}
            {sum.rejected > 0 && (
              <Link className="link" href={rejectedHref(sum.day, sum.day)}>
                {t("showRejected")}
              </Link>
            )}
          </Cell>
          <Cell at="desk" align="end">
            {format.number(sum.sent)}
          </Cell>
          <Cell at="desk" align="end">
            {isSilent(sum) ? "–" : format.number(sum.confirmed + sum.duplicate)}
          </Cell>
          <Cell at="desk" align="end">
            {format.number(sum.waiting)}
          </Cell>
          <Cell at="desk" align="end" priority={3}>
            {format.number(sum.noVerdict + sum.unknown)}
          </Cell>
          <Cell at="desk" align="end">
            {sum.rejected > 0 ? (
              <Link
                className="link fg-failed"
                href={rejectedHref(sum.day, sum.day)}
                aria-label={t("showRejectedOf", { count: sum.rejected, day: format.day(sum.day) })}
              >
                {format.number(sum.rejected)}
              </Link>
            ) : (
              format.number(0)
            )}
          </Cell>
          <Cell at="desk" align="end" priority={3}>
            {format.number(sum.adjusted)}
          </Cell>
          <Cell at="desk" align="end" priority={2}>
            {format.sums(sum.sentCents)}
          </Cell>
          <Cell at="end" align="end">
            {isSilent(sum) ? "–" : format.sums(sum.confirmedCents)}
          </Cell>
        </tr>
      ))}
    </Table>
  );
}
