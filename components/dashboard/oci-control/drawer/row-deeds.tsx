"use client";

import { RotateCw } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { Button } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { canTake, isByHand, isManual } from "#lib/oci/queue/row-state.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import type { QueueAction } from "#lib/oci/queue-types.ts";

/** What can be done with this one; a row that is done says so. */
export function RowDeeds({ row, story }: { row: QueueRow; story: QueueRowStory | null }) {
  const t = useTranslations("oci.drawer");
  const { site, actions } = useControl();
  // The list has the newest state; the story has what SQL allowed in the state it read.
  const can = (action: QueueAction) =>
    canTake(action, row, site.ociSyncMethod) && (!story || story.row.status !== row.status || story.allowedActions.includes(action));
  const isNone = !can("RETRY_SELECTED") && !can("RESET_TO_QUEUED") && !can("MARK_FAILED");
  return (
    <>
      {can("RETRY_SELECTED") && !isManual(row, site.ociSyncMethod) && (
        <Button onClick={() => actions.act("RETRY_SELECTED", [row])}>
          <RotateCw />
          {t("sendAgain")}
        </Button>
      )}
      {can("RESET_TO_QUEUED") && <Button onClick={() => actions.act("RESET_TO_QUEUED", [row])}>{t("backToQueue")}</Button>}
      {story?.canTryApi && isByHand(row, site.ociSyncMethod) && <TryApi row={row} />}
      {can("MARK_FAILED") && (
        <Button tone="danger" onClick={() => actions.act("MARK_FAILED", [row])}>
          {t("markFailed")}
        </Button>
      )}
      {isNone && <span className="text-xs text-support">{t("nothingToDo")}</span>}
    </>
  );
}

/** Gives a person's work back to the API, after saying what happens if somebody has already done it. */
function TryApi({ row }: { row: QueueRow }) {
  const t = useTranslations("oci.tryApi");
  const { actions, format } = useControl();
  const [open, setOpen] = useState(false);
  const risk = row.kind === "RETRACT" ? t("riskRetract") : t("riskRestate", { money: format.money(row.valueCents, row.currency) });
  return (
    <ConfirmDialog
      open={open}
      onOpenChange={setOpen}
      title={t("title")}
      description={`${t("when")} ${risk} ${t("refused")}`}
      confirm={t("confirm")}
      cancel={t("cancel")}
      destructive={false}
      pending={false}
      onConfirm={() => {
        setOpen(false);
        actions.tryApi(row);
      }}
      trigger={<Button>{t("try")}</Button>}
    />
  );
}
