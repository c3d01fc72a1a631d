"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { shortOrder } from "#components/dashboard/oci-control/table/short-order.ts";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Button } from "#components/ui/button.tsx";
import { Dialog, DialogClose } from "#components/ui/dialog.tsx";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import type { Outcome } from "./job.ts";

/** Which rows an action left as they were, each with its reason. */
export function SkippedDialog({ outcome, rows, onClose }: { outcome: Outcome | null; rows: QueueRow[]; onClose: () => void }) {
  const t = useTranslations("oci.actions");
  const states = useTranslations("states");
  useBackCloses(outcome !== null, onClose);
  const [shown, setShown] = useState(outcome);
  if (outcome && outcome !== shown) setShown(outcome);
  const orders = new Map(rows.map((row) => [row.id, row.orderId]));
  const listed = shown?.skipped ?? [];
  return (
    <Dialog
      open={outcome !== null}
      onOpenChange={(open) => !open && onClose()}
      title={t("skippedTitle", { count: shown?.skippedCount ?? 0 })}
      description={t("skippedBody", { count: shown?.affected ?? 0 })}
    >
      <ul className="counts max-h-80 overflow-auto">
        {listed.map(({ id, reason, status }) => (
          <li key={id}>
            <span className="id">{shortOrder(orders.get(id) ?? id)}</span>
            <span className="t2">
              {t(`skipped.${reason}`)}
              {status && ` (${states(status)})`}
            </span>
          </li>
        ))}
      </ul>
      {shown && shown.skippedCount > listed.length && (
        <p className="xs t3">{t("skippedMore", { count: shown.skippedCount - listed.length })}</p>
      )}
      <div className="dialog-f">
        <DialogClose render={<Button tone="primary" />}>{t("understood")}</DialogClose>
      </div>
    </Dialog>
  );
}
