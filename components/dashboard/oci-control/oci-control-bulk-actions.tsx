"use client";

import { CircleX, Ellipsis, ListChecks, RotateCw, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import type { Selection } from "#components/dashboard/oci-control/table/use-selection.ts";
import { Button } from "#components/ui/button.tsx";
import { Menu, MenuAction } from "#components/ui/menu.tsx";
import { canTake, sumByCurrency } from "#lib/oci/queue/row-state.ts";
import type { QueueAction } from "#lib/oci/queue-types.ts";

interface BulkProps {
  selection: Selection;
  /** How many rows the filter finds, when the figures say so. */
  matchingCount: number | null;
  /** More rows match than are loaded. */
  hasMore: boolean;
  onAct: (action: QueueAction) => void;
}

const retryKey = "R";

/** Count and money of what is ticked, and what can be done with it. */
export function OciControlBulkActions({ selection, matchingCount, hasMore, onAct }: BulkProps) {
  const t = useTranslations("oci.bulk");
  const format = useControlFormat();
  const { site } = useControl();
  const { rows, matching } = selection;
  if (rows.length === 0 && !matching) return null;
  // Everything that matches is judged by the preview; of ticked rows the button knows.
  const can = (action: QueueAction) => matching || rows.some((row) => canTake(action, row, site.ociSyncMethod));
  const all = matchingCount === null ? t("allMatching") : t("allCount", { count: matchingCount });
  return (
    <div className="bulk" role="toolbar" aria-label={t("label")}>
      <span className="sel" aria-live="polite">
        <b className="strong">{matching ? all : t("selected", { count: rows.length })}</b>{" "}
        {!matching && <span className="t2">{format.sums(sumByCurrency(rows))}</span>}
      </span>
      {!matching && hasMore && (
        <button type="button" className="link desk-only" onClick={selection.chooseMatching}>
          {all}
        </button>
      )}
      <span className="vr" />
      <Button size="sm" disabled={!can("RETRY_SELECTED")} onClick={() => onAct("RETRY_SELECTED")}>
        <RotateCw className="i i-14" />
        {t("retry")}
        <span className="kbd desk-only" aria-hidden="true">
          {retryKey}
        </span>
      </Button>
      <Button size="sm" disabled={!can("RESET_TO_QUEUED")} onClick={() => onAct("RESET_TO_QUEUED")}>
        {t("reset")}
      </Button>
      <Button size="sm" tone="danger" className="desk-only" disabled={!can("MARK_FAILED")} onClick={() => onAct("MARK_FAILED")}>
        {t("fail")}
      </Button>
      <span className="phone-only contents">
        <Menu
          side="top"
          trigger={<Button size="sm" icon className="phone-only" aria-label={t("more")} />}
          triggerContent={<Ellipsis className="i" />}
        >
          {can("MARK_FAILED") && (
            <MenuAction icon={CircleX} onSelect={() => onAct("MARK_FAILED")}>
              {t("fail")}
            </MenuAction>
          )}
          <MenuAction icon={ListChecks} onSelect={selection.chooseMatching}>
            {all}
          </MenuAction>
        </Menu>
      </span>
      <Button size="sm" tone="ghost" icon className="clear" aria-label={t("clear")} onClick={selection.clear}>
        <X className="i" />
      </Button>
    </div>
  );
}
