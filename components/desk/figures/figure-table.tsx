"use client";

import { useTranslations } from "next-intl";
import { Cell, Table } from "#components/ui/table.tsx";

export interface FigureTableProps {
  label: string;
  span: number;
  /** Each day with its figure and the one of as many days before, as they are read. */
  days: { key: string; day: string; now: string; before: string }[];
}

/** What the chart draws, in figures. */
export function FigureTable({ label, span, days }: FigureTableProps) {
  const t = useTranslations("desk.chart");
  const word = useTranslations();
  return (
    <Table
      label={label}
      columns={[
        { key: "day", header: word("labels.day") },
        { key: "now", header: t("thisPeriod"), align: "end" },
        { key: "before", header: t("before", { days: span }), align: "end" },
      ]}
    >
      {days.map(({ key, day, now, before }) => (
        <tr key={key}>
          <Cell at="main">{day}</Cell>
          <Cell at="end" align="end">
            {now}
          </Cell>
          <Cell at="desk" align="end" className="text-meta">
            {before}
          </Cell>
        </tr>
      ))}
    </Table>
  );
}
