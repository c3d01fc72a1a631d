"use client";

import { RotateCw } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { Button } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { isByHand, isManual } from "#lib/oci/queue/row-state.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import type { QueueAction } from "#lib/oci/queue-types.ts";

/** What can be done with this one; a row that is done says so. */
export function RowDeeds({ row, story }: { row: QueueRow; story: QueueRowStory | null }) {
  const t = useTranslations();
  const { site, actions } = useControl();
  const can = (action: QueueAction) => row.allowedActions.includes(action);
  return (
    <>
      {can("RETRY_SELECTED") && !isManual(row, site.ociSyncMethod) && (
        <Button onClick={() => actions.act("RETRY_SELECTED", [row])}>
          <RotateCw />
          {t("actions.retry")}
        </Button>
      )}
      {can("RESET_TO_QUEUED") && <Button onClick={() => actions.act("RESET_TO_QUEUED", [row])}>{t("actions.reset")}</Button>}
      {story?.canTryApi && isByHand(row, site.ociSyncMethod) && <TryApi row={row} />}
      {can("MARK_FAILED") && (
        <Button tone="danger" onClick={() => actions.act("MARK_FAILED", [row])}>
          {t("actions.fail")}
        </Button>
      )}
      {row.status === "COMPLETED" && <span className="text-xs text-support">{t("oci.drawer.nothingToDo")}</span>}
    </>
  );
}

/** Gives a person's work back to the API, after saying what happens if somebody has already done it. */
function TryApi({ row }: { row: QueueRow }) {
  const t = useTranslations("oci.tryApi");
  const word = useTranslations();
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
      cancel={word("actions.leave")}
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
