import { cva, type VariantProps } from "class-variance-authority";
import type { ComponentProps, ReactNode } from "react";
import { cn } from "./cn.ts";

interface Column {
  key: string;
  /** The column's heading; an action column has one too, hidden from sight. */
  header: ReactNode;
  hidden?: boolean;
  width?: string;
  /** Columns leave in narrow windows: 3 first, then 2. */
  priority?: 2 | 3;
  align?: "end";
  /** How the rows are sorted by it, if they are. */
  sorted?: "ascending" | "descending" | undefined;
  className?: string;
}

const priorities = { 2: "desk:@max-[761px]/main:hidden", 3: "desk:@max-[981px]/main:hidden" } as const;
const heading = "h-8.5 border-b border-line-1 px-2 text-left text-xs font-medium whitespace-nowrap text-meta first:pl-4 last:pr-4";
const cardRows =
  "max-desk:block max-desk:*:grid max-desk:*:grid-cols-[minmax(0,1fr)_auto] max-desk:*:items-center max-desk:*:gap-x-3 max-desk:*:gap-y-1.5 max-desk:*:border-b max-desk:*:border-line-1 max-desk:*:px-4 max-desk:*:py-3 max-desk:*:last:border-b-0";

interface TableProps {
  label: string;
  columns: Column[];
  className?: string;
  children: ReactNode;
}

/** The reference table. On a phone each row becomes a card; `Cell`'s `at` says where on it a cell goes. */
export function Table({ label, columns, className, children }: TableProps) {
  return (
    <table className={cn("table-fixed text-sm max-desk:block", className)} aria-label={label}>
      <thead className="max-desk:hidden">
        <tr>
          {columns.map(({ key, header, hidden, width, priority, align, sorted, className }) => (
            <th
              key={key}
              scope="col"
              aria-sort={sorted}
              style={{ width }}
              className={cn(heading, priority && priorities[priority], align && "text-right", className)}
            >
              {hidden ? <span className="sr-only">{header}</span> : header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody className={cardRows}>{children}</tbody>
    </table>
  );
}

const cell = cva(
  "border-line-1 max-desk:hidden desk:h-10 desk:truncate desk:border-b desk:px-2 desk:first:pl-4 desk:last:pr-4 desk:in-[tr:last-child]:border-b-0",
  {
    variants: {
      /** First line: main, end. Second: sub and meta, or one that is wide. Third: foot. `desk` is left out on a phone. */
      at: {
        main: "max-desk:col-start-1 max-desk:row-start-1 max-desk:block max-desk:min-w-0 max-desk:text-left",
        end: "max-desk:col-start-2 max-desk:row-start-1 max-desk:block max-desk:min-w-0 max-desk:text-right",
        sub: "max-desk:col-start-1 max-desk:row-start-2 max-desk:block max-desk:min-w-0 max-desk:text-meta",
        meta: "max-desk:col-start-2 max-desk:row-start-2 max-desk:block max-desk:min-w-0 max-desk:text-right max-desk:text-meta",
        wide: "max-desk:col-span-full max-desk:row-start-2 max-desk:block max-desk:min-w-0",
        foot: "max-desk:col-span-full max-desk:row-start-3 max-desk:min-w-0 max-desk:not-empty:block",
        desk: "",
      },
      priority: priorities,
      align: { end: "text-right" },
      /** Grows with its content instead of cutting it. */
      roomy: { true: "desk:overflow-visible desk:py-2 desk:whitespace-normal" },
    },
  },
);

export function Cell({ at, priority, align, roomy, className, ...props }: Omit<ComponentProps<"td">, "align"> & VariantProps<typeof cell>) {
  return <td className={cn(cell({ at, priority, align, roomy }), className)} {...props} />;
}
