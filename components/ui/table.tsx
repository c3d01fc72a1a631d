import { cva, type VariantProps } from "class-variance-authority";
import type { ComponentProps, ReactNode } from "react";
import { cn } from "./cn.ts";

interface Column {
  key: string;
  /** Words for the column; an action column has words too, hidden from sight. */
  header: ReactNode;
  hidden?: boolean;
  width?: string;
  /** Columns leave in narrow windows: 3 first, then 2. */
  priority?: 2 | 3;
  align?: "end";
}

const priorities = { 2: "p2", 3: "p3" } as const;

/** The reference table. On a phone each row becomes a card; `Cell`'s `at` says where on it a cell goes. */
export function Table({ label, columns, children }: { label: string; columns: Column[]; children: ReactNode }) {
  return (
    <table className="tbl" aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ key, header, hidden, width, priority, align }) => (
            <th key={key} scope="col" style={{ width }} className={cn(priority && priorities[priority], align && "num")}>
              {hidden ? <span className="sr">{header}</span> : header}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
}

const cell = cva("", {
  variants: {
    /** First line: main, end. Second: sub and meta, or one that is wide. Third: foot. `desk` is left out on a phone. */
    at: { main: "at-main", end: "at-end", sub: "at-sub", meta: "at-meta", wide: "at-wide", foot: "at-foot", desk: "" },
    priority: priorities,
    align: { end: "num" },
    /** Grows with its content instead of cutting it. */
    roomy: { true: "roomy" },
  },
});

export function Cell({ at, priority, align, roomy, className, ...props }: Omit<ComponentProps<"td">, "align"> & VariantProps<typeof cell>) {
  return <td className={cn(cell({ at, priority, align, roomy }), className)} {...props} />;
}
