"use client";

import { useTranslations } from "next-intl";
import { type ComponentProps, Fragment, type ReactNode, useMemo, useRef } from "react";
import { Table } from "#components/ui/table.tsx";
import { isListTouched } from "./is-list-touched.ts";
import { NewRows } from "./new-rows.tsx";
import { useHeldRows } from "./use-held-rows.ts";

interface LiveTableProps extends Omit<ComponentProps<typeof Table>, "children"> {
  /** What the list is of: its filter and page. */
  of: string;
  /** The server's rows, drawn by the server. */
  rows: { id: string; row: ReactNode }[];
  next: string | null;
}

/** A table that the server draws, row by row, and that does not move while somebody uses it. */
export function LiveTable({ of, rows, next, ...table }: LiveTableProps) {
  const t = useTranslations("workbench");
  const list = useRef<HTMLDivElement>(null);
  const page = useMemo(() => ({ rows, next }), [rows, next]);
  const held = useHeldRows(page, { of, isTouched: () => isListTouched(list.current) });
  return (
    <div ref={list}>
      <NewRows count={held.waiting.length} onShow={held.showNewest}>
        {t("newRows", { count: held.waiting.length })}
      </NewRows>
      <Table {...table}>
        {held.rows.map(({ id, row }) => (
          <Fragment key={id}>{row}</Fragment>
        ))}
      </Table>
    </div>
  );
}
