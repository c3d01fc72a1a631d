"use client";

import { RotateCw } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import type { Cause } from "#components/delivery/use-cause.ts";
import { connectPath, sitePath } from "#components/shell/nav-items.ts";
import { Button, ButtonLink } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { isByHand, isManual, isNotSent, obstacleOf, reasonOf, rowState } from "#lib/oci/queue/row-state.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import type { QueueAction } from "#lib/oci/queue-types.ts";
import type { SiteId } from "#lib/site.ts";

/** Where an owner fixes a cause. */
const places: Partial<Record<Cause["cure"], (siteId: SiteId) => string>> = {
  reconnect: connectPath,
  settings: (siteId) => sitePath(siteId, "/settings"),
  actions: (siteId) => `${sitePath(siteId, "/connections/google-ads")}#actions`,
};

/** The button that does what "Fix" says: a page, or one of the row's own actions. Null: nothing can be fixed here. */
function useFix(row: QueueRow): { place: (siteId: SiteId) => string; label: string } | { action: QueueAction } | null {
  const { site, blocked, now, causeOf } = useControl();
  const state = rowState(row, blocked, now);
  if (state === "STUCK") return { action: "RESET_TO_QUEUED" };
  const cause = causeOf(obstacleOf(row) ?? reasonOf(row) ?? "");
  const isOpen = state === "FAILED" || state === "RETRY" || state === "BLOCKED";
  if (!isOpen || !cause.helps) return null;
  const place = site.role === "owner" ? places[cause.cure] : undefined;
  if (place) return { place, label: cause.deed };
  // Back in the queue a correction is a person's work again; nothing is sent.
  return { action: cause.cure === "reset" || isManual(row, site.ociSyncMethod) ? "RESET_TO_QUEUED" : "RETRY_SELECTED" };
}

/** What can be done with this one, the fix first; a row that is done says so. */
export function RowDeeds({ row, story }: { row: QueueRow; story: QueueRowStory | null }) {
  const t = useTranslations();
  const { site, actions } = useControl();
  const fix = useFix(row);
  const fixes = (action: QueueAction) => fix !== null && "action" in fix && fix.action === action;
  const can = (action: QueueAction) => row.allowedActions.includes(action);
  const isStuck = row.status === "PROCESSING" && fixes("RESET_TO_QUEUED");
  const retry = can("RETRY_SELECTED") && !isManual(row, site.ociSyncMethod) && (
    <Button tone={fixes("RETRY_SELECTED") ? "primary" : "plain"} onClick={() => actions.act("RETRY_SELECTED", [row])}>
      <RotateCw />
      {t("actions.retry")}
    </Button>
  );
  const reset = can("RESET_TO_QUEUED") && (
    <Button tone={fixes("RESET_TO_QUEUED") ? "primary" : "plain"} onClick={() => actions.act("RESET_TO_QUEUED", [row])}>
      {t(isStuck ? "oci.drawer.freeNow" : "actions.reset")}
    </Button>
  );
  return (
    <>
      {fix && "place" in fix && (
        <ButtonLink tone="primary" href={fix.place(site.siteId)}>
          {fix.label}
        </ButtonLink>
      )}
      {fixes("RESET_TO_QUEUED") && reset}
      {retry}
      {!fixes("RESET_TO_QUEUED") && reset}
      {story?.canTryApi && isByHand(row, site.ociSyncMethod) && <TryApi row={row} />}
      {can("MARK_FAILED") && (
        <Button tone="danger" onClick={() => actions.act("MARK_FAILED", [row])}>
          {t("actions.fail")}
        </Button>
      )}
      {row.status === "COMPLETED" && <span className="text-xs text-support">{t("oci.drawer.nothingToDo")}</span>}
      {isNotSent(row) && <span className="text-xs text-support">{t("oci.drawer.closed")}</span>}
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
