"use client";

import { useTranslations } from "next-intl";
import { useEffect, useRef } from "react";
import { QueueTableRow } from "#components/dashboard/oci-control/table/queue-table-row.tsx";
import type { Selection } from "#components/dashboard/oci-control/table/use-selection.ts";
import { useTableLook } from "#components/dashboard/oci-control/table/use-table-look.ts";
import { cn } from "#components/ui/cn.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";

interface TableProps {
  rows: QueueRow[];
  openId: string | null;
  selection: Selection;
  linkTo: (id: string) => string;
  onOpen: (id: string) => void;
  mayAct: boolean;
}

/** The queue. Rows keep their height and their place; on a phone each is a card. */
export function OciControlTable({ rows, openId, selection, linkTo, onOpen, mayAct }: TableProps) {
  const t = useTranslations("oci.table");
  const look = useTableLook();
  const all = rows.length > 0 && rows.every((row) => selection.has(row.id));
  const some = !all && rows.some((row) => selection.has(row.id));
  return (
    <table className={cn("tbl queue-tbl", look.density === "compact" && "compact")} aria-label={t("label")}>
      <thead>
        <tr>
          {mayAct && (
            <th scope="col" className="k-check">
              <MixedCheck label={t("selectAll")} checked={all} mixed={some} onChange={selection.toggleAll} />
            </th>
          )}
          <th scope="col" className="c-state">
            {t("state")}
          </th>
          <th scope="col" className="c-val num">
            {t("value")}
          </th>
          <th scope="col">{t("happening")}</th>
          <th scope="col" className="c-ord">
            {t("order")}
          </th>
          {look.shows("source") && (
            <th scope="col" className="c-src p3">
              {t("source")}
            </th>
          )}
          {look.shows("conversionTime") && (
            <th scope="col" className="c-time p3">
              {t("conversionTime")}
            </th>
          )}
          {look.shows("tries") && (
            <th scope="col" className="c-try num p2">
              {t("tries")}
            </th>
          )}
          {look.shows("updated") && (
            <th scope="col" className="c-upd num">
              {t("updated")}
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <QueueTableRow
            key={row.id}
            row={row}
            look={look}
            open={row.id === openId}
            selected={selection.has(row.id)}
            href={linkTo(row.id)}
            onOpen={() => onOpen(row.id)}
            onToggle={mayAct ? (withShift) => selection.toggle(row.id, withShift) : null}
          />
        ))}
      </tbody>
    </table>
  );
}

function MixedCheck({ label, checked, mixed, onChange }: { label: string; checked: boolean; mixed: boolean; onChange: () => void }) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current) box.current.indeterminate = mixed; // HTML has no attribute for it
  }, [mixed]);
  return <input ref={box} type="checkbox" className="check" data-mixed={mixed} aria-label={label} checked={checked} onChange={onChange} />;
}
