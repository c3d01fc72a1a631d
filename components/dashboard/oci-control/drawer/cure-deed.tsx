"use client";

import { useTranslations } from "next-intl";
import type { Actions } from "#components/dashboard/oci-control/actions/use-actions.tsx";
import { useControl } from "#components/dashboard/oci-control/context/control-context.tsx";
import type { Cause } from "#components/delivery/use-cause.ts";
import { connectPath, sitePath } from "#components/shell/nav-items.ts";
import { Button, ButtonLink } from "#components/ui/button.tsx";
import type { QueueRow } from "#lib/oci/control-shapes.ts";
import type { ViewFilter } from "#lib/oci/control-view.ts";
import { isManual, type RowState } from "#lib/oci/row-state.ts";

interface DeedProps {
  row: QueueRow;
  state: RowState;
  cause: Cause;
  sameCause: number;
  actions: Actions;
  onFilter: (filter: ViewFilter) => void;
}

const places: Partial<Record<Cause["cure"], (siteId: string) => string>> = {
  reconnect: connectPath,
  settings: (siteId) => sitePath(siteId, "/settings"),
  actions: (siteId) => `${sitePath(siteId, "/connections/google-ads")}#actions`,
};

/** The button that does what "Fix" says, where a button can; and the way to all that share the cause. */
export function CureDeed({ row, state, cause, sameCause, actions, onFilter }: DeedProps) {
  const t = useTranslations("oci.drawer");
  const { site, mayAct } = useControl();
  // Where an owner puts it right; sending again comes after that and stands at the foot.
  const place = site.role === "owner" && mayAct ? places[cause.cure] : undefined;
  const retry = mayAct && !place && cause.helps && (state === "FAILED" || state === "RETRY");
  const byHand = isManual(row, site.ociSyncMethod); // back in the queue it is a person's work again; nothing is sent
  const free = mayAct && state === "STUCK";
  const showsSame = row.providerErrorCode !== null && sameCause > 1 && state === "FAILED";
  if (!place && !retry && !free && !showsSame) return null;
  return (
    <div className="row">
      {place && (
        <ButtonLink tone="primary" href={place(site.publicId)}>
          {cause.deed}
        </ButtonLink>
      )}
      {retry && (
        <Button tone="primary" onClick={() => actions.act(cause.cure === "reset" || byHand ? "RESET_TO_QUEUED" : "RETRY_SELECTED", [row])}>
          {byHand ? t("backToQueue") : cause.cure === "reset" ? cause.deed : t("retryNow")}
        </Button>
      )}
      {free && (
        <Button tone="primary" onClick={() => actions.act("RESET_TO_QUEUED", [row])}>
          {t("freeNow")}
        </Button>
      )}
      {showsSame && (
        <Button tone="ghost" onClick={() => onFilter({ status: "FAILED", errorCode: row.providerErrorCode ?? "" })}>
          {t("showSame", { count: sameCause })}
        </Button>
      )}
    </div>
  );
}
