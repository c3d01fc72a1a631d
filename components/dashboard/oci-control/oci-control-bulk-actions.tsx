"use client";

import { CircleX, Ellipsis, ListChecks, RotateCw, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { Button } from "#components/ui/button.tsx";
import { Kbd } from "#components/ui/kbd.tsx";
import { Menu, MenuAction } from "#components/ui/menu.tsx";
import { BulkBar } from "#components/workbench/bulk-bar.tsx";
import type { Selection } from "#components/workbench/use-selection.ts";
import { sumByCurrency } from "#lib/oci/queue/row-state.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import type { QueueAction } from "#lib/oci/queue-types.ts";
import { useControl } from "./control-context.tsx";

interface BulkProps {
  selection: Selection<QueueRow>;
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
  const word = useTranslations();
  const { format } = useControl();
  const { rows, isMatching } = selection;
  if (selection.isEmpty) return null;
  // Everything that matches is judged by the preview; of ticked rows the button knows.
  const can = (action: QueueAction) => isMatching || rows.some((row) => row.allowedActions.includes(action));
  const canNothing = !isMatching && rows.every((row) => row.allowedActions.length === 0);
  const all = matchingCount === null ? t("allMatching") : t("allCount", { count: matchingCount });
  const summary = (
    <>
      <b className="font-semibold">{isMatching ? all : t("selected", { count: rows.length })}</b>{" "}
      {!isMatching && <span className="text-support">{format.sums(sumByCurrency(rows))}</span>}
      {!can("RETRY_SELECTED") && <span className="block text-xs text-meta">{t(canNothing ? "nothingPossible" : "noRetry")}</span>}
    </>
  );
  const clear = (
    <Button size="sm" tone="ghost" icon aria-label={t("clear")} onClick={selection.clear}>
      <X />
    </Button>
  );
  return (
    <BulkBar label={t("label")} summary={summary} clear={clear}>
      {!isMatching && hasMore && (
        <button type="button" className="link max-desk:hidden" onClick={selection.chooseMatching}>
          {all}
        </button>
      )}
      <span className="mx-1 h-5 w-px bg-line-2 max-desk:hidden" />
      <Button size="sm" disabled={!can("RETRY_SELECTED")} onClick={() => onAct("RETRY_SELECTED")}>
        <RotateCw className="size-3.5" />
        {word("actions.retry")}
        <span className="contents max-desk:hidden" aria-hidden="true">
          <Kbd>{retryKey}</Kbd>
        </span>
      </Button>
      <Button size="sm" disabled={!can("RESET_TO_QUEUED")} onClick={() => onAct("RESET_TO_QUEUED")}>
        {word("actions.reset")}
      </Button>
      <Button size="sm" tone="danger" className="max-desk:hidden" disabled={!can("MARK_FAILED")} onClick={() => onAct("MARK_FAILED")}>
        {word("actions.fail")}
      </Button>
      <span className="contents desk:hidden">
        <Menu side="top" trigger={<Button size="sm" icon aria-label={t("more")} />} triggerContent={<Ellipsis />}>
          {can("MARK_FAILED") && (
            <MenuAction icon={CircleX} onSelect={() => onAct("MARK_FAILED")}>
              {word("actions.fail")}
            </MenuAction>
          )}
          <MenuAction icon={ListChecks} onSelect={selection.chooseMatching}>
            {all}
          </MenuAction>
        </Menu>
      </span>
    </BulkBar>
  );
}
