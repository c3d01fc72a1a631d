"use client";

import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { Badge } from "#components/ui/badge.tsx";
import { CheckboxInput } from "#components/ui/checkbox.tsx";
import { cn } from "#components/ui/cn.ts";
import { RowLink } from "#components/workbench/row-link.tsx";
import { rowState } from "#lib/oci/queue/row-state.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import { shortOrder } from "#lib/oci/short-order.ts";
import type { useTableLook } from "./table-look.tsx";
import { useWhatHappens } from "./use-what-happens.ts";

interface RowProps {
  row: QueueRow;
  look: Pick<ReturnType<typeof useTableLook>, "shows">;
  isOpen: boolean;
  isSelected: boolean;
  /** Null for a reader who may not act. */
  onToggle: ((withShift: boolean) => void) | null;
}

/** Columns leave in narrow windows: 3 first, then 2. */
export const priority2 = "desk:@max-[761px]/main:hidden";
export const priority3 = "desk:@max-[981px]/main:hidden";

const line =
  "group/row relative hover:bg-surface-2 data-[selected=true]:bg-accent-soft has-[[data-row-link]:focus-visible]:outline-2 has-[[data-row-link]:focus-visible]:-outline-offset-2 has-[[data-row-link]:focus-visible]:outline-focus desk:data-[open=true]:bg-surface-3 max-desk:grid max-desk:grid-cols-[44px_minmax(0,1fr)_auto] max-desk:items-center max-desk:gap-y-1.25 max-desk:border-b max-desk:border-line-1 max-desk:py-3 max-desk:pr-3.5 max-desk:last:border-b-0";
const cell =
  "border-line-1 desk:h-10 desk:truncate desk:border-b desk:px-2 desk:first:pl-4 desk:last:pr-4 desk:group-last/row:border-b-0 desk:group-data-[density=compact]/queue:h-8 desk:first:group-data-[open=true]/row:shadow-[inset_3px_0_0_var(--color-accent)]";
const quiet = "text-meta group-data-[selected=true]/row:text-support";

export function QueueTableRow({ row, look, isOpen, isSelected, onToggle }: RowProps) {
  const t = useTranslations("oci");
  const channels = useTranslations("channels");
  const { blocked, now, format, linkToRow, openRow } = useControl();
  const { line: happening, next, bad } = useWhatHappens()(row);
  const state = rowState(row, blocked, now);
  const order = shortOrder(row.orderId);
  return (
    <tr className={line} data-row={row.id} data-selected={isSelected} data-open={isOpen}>
      {onToggle && (
        <td
          className={cn(
            cell,
            "relative z-1 max-desk:col-start-1 max-desk:row-span-3 max-desk:row-start-1 max-desk:grid max-desk:h-full max-desk:min-h-11 max-desk:items-start max-desk:justify-items-center max-desk:pt-px desk:overflow-visible",
          )}
        >
          <CheckboxInput
            className="before:absolute before:inset-0"
            aria-label={t("table.select", { order })}
            checked={isSelected}
            onChange={(event) => onToggle(event.nativeEvent instanceof MouseEvent && event.nativeEvent.shiftKey)}
          />
        </td>
      )}
      <td className={cn(cell, "max-desk:col-start-2 max-desk:row-start-1")}>
        <Badge state={state === "COMPLETED" && row.verdict === "REJECTED" ? "REJECTED" : state} />
      </td>
      <td
        className={cn(
          cell,
          "text-right font-medium whitespace-nowrap max-desk:col-start-3 max-desk:row-start-1 max-desk:text-base max-desk:font-semibold",
        )}
      >
        {row.kind === "RETRACT" ? t("table.retract") : format.money(row.valueCents, row.currency)}
      </td>
      <td className={cn(cell, "whitespace-normal max-desk:col-span-2 max-desk:col-start-2 max-desk:row-start-2")}>
        <span className="grid leading-4.25 group-data-[density=compact]/queue:overflow-hidden group-data-[density=compact]/queue:whitespace-nowrap">
          <span
            className={cn(
              "min-w-0 truncate group-data-[density=roomy]/queue:@max-[761px]/main:line-clamp-2 group-data-[density=roomy]/queue:@max-[761px]/main:whitespace-normal",
              bad && "text-failed",
            )}
          >
            {happening}
          </span>
          {next && (
            <small className={cn("min-w-0 truncate text-xs @max-[761px]/main:hidden group-data-[density=compact]/queue:hidden", quiet)}>
              {next}
            </small>
          )}
        </span>
      </td>
      <td className={cn(cell, "id text-support max-desk:col-start-2 max-desk:row-start-3 max-desk:text-xs max-desk:text-meta")}>
        <RowLink
          data-row-link
          className="block outline-none after:absolute after:inset-0 desk:py-2.5 desk:group-data-[density=compact]/queue:py-1.5"
          href={linkToRow(row.id)}
          onOpen={() => openRow(row.id)}
          aria-current={isOpen ? "true" : undefined}
          title={row.orderId}
        >
          {order}
        </RowLink>
      </td>
      {look.shows("source") && (
        <td className={cn(cell, priority3, "text-support max-desk:hidden")}>
          {[row.channel && channels(row.channel), row.phoneEnding && `••${row.phoneEnding}`].filter(Boolean).join(" ")}
        </td>
      )}
      {look.shows("conversionTime") && (
        <td className={cn(cell, priority3, "text-support max-desk:hidden")}>
          <time dateTime={row.conversionTime} title={format.dateTime(row.conversionTime)}>
            {format.moment(row.conversionTime)}
          </time>
        </td>
      )}
      {look.shows("tries") && (
        <td className={cn(cell, priority2, "text-right text-support max-desk:hidden")}>
          {t("table.triesOf", { count: row.attemptCount, max: row.attemptCount + row.attemptsLeft })}
        </td>
      )}
      {look.shows("updated") && (
        <td className={cn(cell, quiet, "text-right max-desk:col-start-3 max-desk:row-start-3 max-desk:text-xs")}>
          <time dateTime={row.updatedAt} title={format.dateTime(row.updatedAt)}>
            {format.age(row.updatedAt)}
          </time>
        </td>
      )}
    </tr>
  );
}
