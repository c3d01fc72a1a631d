"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Button } from "#components/ui/button.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import { shortOrder } from "#lib/oci/short-order.ts";
import { CountList } from "./count-list.tsx";

/** Which rows an action left as they were, each with its reason. */
export function SkippedDialog({ rows }: { rows: readonly QueueRow[] }) {
  const t = useTranslations();
  const states = useTranslations("states");
  const { outcome, closeOutcome } = useControl().actions;
  useBackCloses(outcome !== null, closeOutcome);
  const [shown, setShown] = useState(outcome);
  if (outcome && outcome !== shown) setShown(outcome);
  const orders = new Map(rows.map((row) => [row.id, row.orderId]));
  const { skipped = [], skippedCount = 0, affected = 0 } = shown ?? {};
  const lines = skipped.map(({ id, reason, status }) => ({
    key: id,
    name: orders.has(id) ? <span className="id">{shortOrder(orders.get(id) ?? "")}</span> : t("kinds.CONVERSION"),
    value: (
      <span className="font-normal text-support">
        {t(`oci.actions.skipped.${reason}`)}
        {status && ` (${states(status)})`}
      </span>
    ),
  }));
  return (
    <Dialog
      open={outcome !== null}
      onOpenChange={(open) => !open && closeOutcome()}
      title={t("oci.actions.skippedTitle", { count: skippedCount })}
      description={t("oci.actions.skippedBody", { count: affected })}
    >
      <CountList className="max-h-80 overflow-auto" lines={lines} />
      {skippedCount > skipped.length && (
        <p className="text-xs text-meta">{t("oci.actions.skippedMore", { count: skippedCount - skipped.length })}</p>
      )}
      <DialogFoot>
        <DialogClose render={<Button tone="primary" />}>{t("actions.understood")}</DialogClose>
      </DialogFoot>
    </Dialog>
  );
}
