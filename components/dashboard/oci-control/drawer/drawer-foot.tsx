"use client";

import { RotateCw } from "lucide-react";
import { useTranslations } from "next-intl";
import type { Actions } from "#components/dashboard/oci-control/actions/use-actions.tsx";
import { useControl } from "#components/dashboard/oci-control/context/control-context.tsx";
import { Button } from "#components/ui/button.tsx";
import { canTake, isByHand, isManual } from "#lib/oci/queue/row-state.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import { TryApi } from "./try-api.tsx";

/** What can be done with this one. A viewer has no foot at all; a row that is done says so. */
export function DrawerFoot({ row, story, actions }: { row: QueueRow; story: QueueRowStory | null; actions: Actions }) {
  const t = useTranslations("oci.drawer");
  const { site, mayAct } = useControl();
  if (!mayAct) return null;
  // The list knows the newest state, the story what SQL allows in the state it saw.
  const can = (action: Parameters<typeof canTake>[0]) =>
    canTake(action, row, site.ociSyncMethod) && (!story || story.row.status !== row.status || story.allowedActions.includes(action));
  const none = !can("RETRY_SELECTED") && !can("RESET_TO_QUEUED") && !can("MARK_FAILED");
  return (
    <div className="drawer-f">
      {can("RETRY_SELECTED") && !isManual(row, site.ociSyncMethod) && (
        <Button onClick={() => actions.act("RETRY_SELECTED", [row])}>
          <RotateCw className="i" />
          {t("sendAgain")}
        </Button>
      )}
      {can("RESET_TO_QUEUED") && <Button onClick={() => actions.act("RESET_TO_QUEUED", [row])}>{t("backToQueue")}</Button>}
      {story?.canTryApi && isByHand(row, site.ociSyncMethod) && <TryApi row={row} actions={actions} />}
      {can("MARK_FAILED") && (
        <Button tone="danger" onClick={() => actions.act("MARK_FAILED", [row])}>
          {t("markFailed")}
        </Button>
      )}
      {none && <span className="xs t2">{t("nothingToDo")}</span>}
    </div>
  );
}
