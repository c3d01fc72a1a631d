"use client";

import Link from "next/link";
import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { type DaySum, isSilent, sumByDay } from "#lib/oci/queue/day-span.ts";
import type { DeliveryDays } from "#lib/oci/queue/days.ts";

interface DaysTableProps {
  report: DeliveryDays;
  /** The list of what Google rejected of the conversions sent from one day to another. */
  rejectedHref: (first: string, last: string) => string;
}

/** The same days as figures, newest first. Days on which nothing was sent are left out. */
export function DaysTable({ report, rejectedHref }: DaysTableProps) {
  const t = useTranslations();
  const { format } = useControl();
  const days = sumByDay(report)
    .filter(({ sent, adjusted }) => sent + adjusted > 0)
    .reverse();
  const countedOf = ({ confirmed, duplicate }: DaySum) => confirmed + duplicate;
  const noneOf = ({ unknown, noVerdict }: DaySum) => unknown + noVerdict;
  const rejectedOf = (sum: DaySum) =>
    sum.rejected === 0 ? (
      format.number(0)
    ) : (
      <Link
        className="link text-failed"
        href={rejectedHref(sum.day, sum.day)}
        aria-label={t("oci.days.showRejectedOf", { count: sum.rejected, day: format.day(sum.day) })}
      >
        {format.number(sum.rejected)}
      </Link>
    );
  const countedValueOf = (sum: DaySum) =>
    isSilent(sum) ? (
      <>
        <span className="max-desk:hidden">{"–"}</span>
        <span className="desk:hidden">{format.sums(sum.sentCents)}</span>
      </>
    ) : (
      format.sums(sum.confirmedCents)
    );
  const columns = [
    { key: "states.sent", cell: (sum: DaySum) => format.number(sum.sent) },
    { key: "oci.days.columns.counted", cell: (sum: DaySum) => (isSilent(sum) ? "–" : format.number(countedOf(sum))) },
    { key: "states.waiting", cell: (sum: DaySum) => format.number(sum.waiting) },
    { key: "labels.noVerdict", cell: (sum: DaySum) => format.number(noneOf(sum)), priority: 3 },
    { key: "states.REJECTED", cell: rejectedOf },
    { key: "oci.days.columns.adjusted", cell: (sum: DaySum) => format.number(sum.adjusted), priority: 3 },
    { key: "oci.days.columns.sentValue", cell: (sum: DaySum) => format.sums(sum.sentCents), priority: 2 },
    { key: "oci.days.columns.countedValue", cell: countedValueOf, at: "end" },
  ] as const;
  const headings = columns.map(({ key, ...column }) => ({
    key,
    header: t(key),
    align: "end" as const,
    ...("priority" in column && { priority: column.priority }),
  }));
  return (
    <Table label={t("oci.days.title")} columns={[{ key: "day", header: t("labels.day"), width: "110px" }, ...headings]}>
      {days.map((sum) => (
        <tr key={sum.day}>
          <Cell at="main">{format.day(sum.day)}</Cell>
          <Cell at="wide" className="text-support desk:hidden">
            {t(isSilent(sum) ? "oci.days.silentLine" : "oci.days.line", {
              sent: sum.sent,
              counted: countedOf(sum),
              none: noneOf(sum),
              waiting: sum.waiting,
              rejected: sum.rejected,
            })}{" "}
            {sum.rejected > 0 && (
              <Link className="link" href={rejectedHref(sum.day, sum.day)}>
                {t("oci.days.showRejected")}
              </Link>
            )}
          </Cell>
          {columns.map(({ key, cell, ...column }) => (
            <Cell
              key={key}
              align="end"
              at={"at" in column ? column.at : "desk"}
              priority={"priority" in column ? column.priority : undefined}
            >
              {cell(sum)}
            </Cell>
          ))}
        </tr>
      ))}
    </Table>
  );
}
