"use client";

import { useTranslations } from "next-intl";
import { useEffect, useRef } from "react";
import { CheckboxInput } from "#components/ui/checkbox.tsx";
import { cn } from "#components/ui/cn.ts";
import type { Selection } from "#components/workbench/use-selection.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import { useControl } from "./control-context.tsx";
import { priority2, priority3, QueueTableRow } from "./table/queue-row.tsx";
import { useTableLook } from "./table/table-look.tsx";

interface TableProps {
  rows: readonly QueueRow[];
  openId: string | null;
  selection: Selection<QueueRow>;
}

const columns = [
  ["state", "w-33"],
  ["value", "w-22 text-right"],
  ["happening", ""],
  ["order", "w-34.5"],
  ["source", `w-43 ${priority3}`],
  ["conversionTime", `w-29.5 ${priority3}`],
  ["tries", `w-15.5 text-right ${priority2}`],
  ["updated", "w-23 text-right"],
] as const;
const heading =
  "sticky top-0 z-2 h-8.5 border-b border-line-1 bg-surface-1 px-2 text-left text-xs font-medium whitespace-nowrap text-meta first:pl-4 last:pr-4";

/** The queue. Rows keep their height and their place; on a phone each is a card. */
export function OciControlTable({ rows, openId, selection }: TableProps) {
  const t = useTranslations("oci.table");
  const labels = useTranslations("labels");
  const { mayAct } = useControl();
  const look = useTableLook();
  const isShown = (key: (typeof columns)[number][0]) => !look.hidden.some((hidden) => hidden === key);
  return (
    <table data-slot="queue" data-density={look.density} className="group/queue table-fixed text-sm max-desk:block" aria-label={t("label")}>
      <thead className="max-desk:hidden">
        <tr>
          {mayAct && (
            <th scope="col" className={cn(heading, "w-9.5")}>
              <AllCheck label={t("selectAll")} selection={selection} />
            </th>
          )}
          {columns.map(
            ([key, className]) =>
              isShown(key) && (
                <th key={key} scope="col" className={cn(heading, className)}>
                  {labels(key)}
                </th>
              ),
          )}
        </tr>
      </thead>
      <tbody className="max-desk:block">
        {rows.map((row) => (
          <QueueTableRow
            key={row.id}
            row={row}
            look={look}
            isOpen={row.id === openId}
            isSelected={selection.has(row.id)}
            onToggle={mayAct ? (withShift) => selection.toggle(row.id, withShift) : null}
          />
        ))}
      </tbody>
    </table>
  );
}

function AllCheck({ label, selection }: { label: string; selection: TableProps["selection"] }) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current) box.current.indeterminate = selection.isSome; // HTML has no attribute for it
  }, [selection.isSome]);
  return <CheckboxInput ref={box} aria-label={label} checked={selection.isAll} onChange={selection.toggleAll} />;
}
