"use client";

import { ArrowDown } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ReactNode, useEffect, useRef } from "react";
import { CheckboxInput } from "#components/ui/checkbox.tsx";
import { cn } from "#components/ui/cn.ts";
import type { Selection } from "#components/workbench/use-selection.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import type { QueueSort } from "#lib/oci/queue-types.ts";
import { useControl } from "./control-context.tsx";
import { priority2, priority3, QueueTableRow } from "./table/queue-row.tsx";
import { useTableLook } from "./table/table-look.tsx";

interface TableProps {
  rows: readonly QueueRow[];
  sort: QueueSort;
  onSort: (sort: QueueSort) => void;
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
/** Columns that sort the list, largest first. The others have no index that would serve a million rows. */
const sortOf: Partial<Record<(typeof columns)[number][0], QueueSort>> = { value: "value", updated: "updated" };
const heading =
  "sticky top-0 z-2 h-8.5 border-b border-line-1 bg-surface-1 px-2 text-left text-xs font-medium whitespace-nowrap text-meta first:pl-4 last:pr-4";

/** The queue. Rows keep their height and their place; on a phone each is a card. */
export function OciControlTable({ rows, sort, onSort, openId, selection }: TableProps) {
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
                <th key={key} scope="col" aria-sort={sortOf[key] === sort ? "descending" : undefined} className={cn(heading, className)}>
                  <SortHeading sort={sortOf[key]} current={sort} onSort={onSort}>
                    {labels(key)}
                  </SortHeading>
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

interface SortHeadingProps {
  sort: QueueSort | undefined;
  current: QueueSort;
  onSort: (sort: QueueSort) => void;
  children: ReactNode;
}

/** Sorts by its column; pressed again, the list is in the order of creation as before. */
function SortHeading({ sort, current, onSort, children }: SortHeadingProps) {
  if (!sort) return children;
  const isBy = sort === current;
  return (
    <button type="button" className="inline-flex items-center gap-1 hover:text-content" onClick={() => onSort(isBy ? "created" : sort)}>
      {children}
      {isBy && <ArrowDown className="size-3" aria-hidden="true" />}
    </button>
  );
}

function AllCheck({ label, selection }: { label: string; selection: TableProps["selection"] }) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current) box.current.indeterminate = selection.isSome; // HTML has no attribute for it
  }, [selection.isSome]);
  return <CheckboxInput ref={box} aria-label={label} checked={selection.isAll} onChange={selection.toggleAll} />;
}
