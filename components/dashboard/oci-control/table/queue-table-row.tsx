"use client";

import { useTranslations } from "next-intl";
import type { MouseEvent } from "react";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { Badge } from "#components/ui/badge.tsx";
import { cn } from "#components/ui/cn.ts";
import { rowState } from "#lib/oci/queue/row-state.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import { shortOrder } from "./short-order.ts";
import type { useTableLook } from "./use-table-look.ts";
import { useWhatHappens } from "./what-happens.tsx";

interface RowProps {
  row: QueueRow;
  look: Pick<ReturnType<typeof useTableLook>, "shows">;
  open: boolean;
  selected: boolean;
  href: string;
  onOpen: () => void;
  /** Null for a reader who may not act. */
  onToggle: ((withShift: boolean) => void) | null;
}

export function QueueTableRow({ row, look, open, selected, href, onOpen, onToggle }: RowProps) {
  const t = useTranslations("oci");
  const format = useControlFormat();
  const { blocked, now } = useControl();
  const { line, next, bad } = useWhatHappens()(row);
  const state = rowState(row, blocked, now);
  const order = shortOrder(row.orderId);
  const follow = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return; // a new tab is the reader's wish
    event.preventDefault();
    onOpen();
  };
  return (
    <tr className={cn(open && "open")} data-row={row.id} data-selected={selected}>
      {onToggle && (
        <td className="k-check">
          <input
            type="checkbox"
            className="check"
            aria-label={t("table.select", { order })}
            checked={selected}
            onChange={(event) => onToggle(event.nativeEvent instanceof MouseEvent && event.nativeEvent.shiftKey)}
          />
        </td>
      )}
      <td className="k-state">
        <Badge state={state === "COMPLETED" && row.verdict === "REJECTED" ? "REJECTED" : state} />
      </td>
      <td className="k-val num med">{row.kind === "RETRACT" ? t("table.retract") : format.money(row.valueCents, row.currency)}</td>
      <td className="k-why">
        <span className="why">
          <span className={cn("clip", bad && "fg-failed")}>{line}</span>
          {next && <small className="clip">{next}</small>}
        </span>
      </td>
      <td className="k-ord id t2">
        <a className="row-link" href={href} onClick={follow} aria-current={open ? "true" : undefined} title={row.orderId}>
          {order}
        </a>
      </td>
      {look.shows("source") && (
        <td className="p3 t2">
          {[row.channel && t(`channels.${row.channel}`), row.phoneEnding && `••${row.phoneEnding}`].filter(Boolean).join(" ")}
        </td>
      )}
      {look.shows("conversionTime") && (
        <td className="p3 t2">
          <time dateTime={row.conversionTime} title={format.dateTime(row.conversionTime)}>
            {format.moment(row.conversionTime)}
          </time>
        </td>
      )}
      {look.shows("tries") && (
        <td className="p2 num t2">{t("table.triesOf", { count: row.attemptCount, max: row.attemptCount + row.attemptsLeft })}</td>
      )}
      {look.shows("updated") && (
        <td className="k-upd num t3">
          <time dateTime={row.updatedAt} title={format.dateTime(row.updatedAt)}>
            {format.age(row.updatedAt)}
          </time>
        </td>
      )}
    </tr>
  );
}
