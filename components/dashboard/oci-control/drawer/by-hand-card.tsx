"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { useSend } from "#components/forms/use-send.ts";
import { Button } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { CopyButton } from "#components/ui/copy-button.tsx";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import { CureFacts } from "./cure-facts.tsx";

/** A correction that neither a script nor an API makes: why, the steps in Google Ads, and the button that says they are done. */
export function ByHandCard({ row }: { row: QueueRow }) {
  const t = useTranslations("oci.byHand");
  const word = useTranslations();
  const { site, mayAct, format } = useControl();
  const { send, pending } = useSend();
  const [open, setOpen] = useState(false);
  const money = format.money(row.valueCents, row.currency);
  const isRetraction = row.kind === "RETRACT";
  const finish = () =>
    send({
      method: "POST",
      url: `/api/oci/queue-rows/${row.id}/done-by-hand`,
      body: { siteId: site.siteId, valueCents: row.valueCents },
      done: t("done"),
      onDone: () => setOpen(false),
    });
  return (
    <CureFacts
      tone="retry"
      facts={[
        { name: word("labels.what"), value: isRetraction ? t("retract") : t("restate", { money }) },
        { name: word("labels.who"), value: t("whoBody") },
        { name: t("why"), value: t(`reasons.${row.byHandReason ?? "SCRIPT"}`) },
      ]}
    >
      <ol className="grid list-decimal gap-1 pl-[1.4em] text-sm text-support">
        <li>{t("step1")}</li>
        <li>{t("step2", { order: row.orderId })}</li>
        <li>{isRetraction ? t("step3Retract") : t("step3Restate", { money })}</li>
        <li>{t("step4")}</li>
      </ol>
      <div className="flex min-w-0 flex-wrap items-center gap-2">
        {mayAct && (
          <ConfirmDialog
            open={open}
            onOpenChange={setOpen}
            title={isRetraction ? t("askRetract") : t("askRestate", { money })}
            description={t("askBody")}
            confirm={t("confirm")}
            cancel={t("cancel")}
            destructive={false}
            pending={pending}
            onConfirm={finish}
            trigger={<Button tone="primary">{t("doneByHand")}</Button>}
          />
        )}
        <CopyButton value={row.orderId} label={t("copyOrder")} tone="ghost" />
      </div>
    </CureFacts>
  );
}
