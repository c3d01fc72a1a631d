"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { useSend } from "#components/forms/use-send.ts";
import { Button } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { CopyButton } from "#components/ui/copy-button.tsx";
import type { QueueRow } from "#lib/oci/queue/rows.ts";

/** A correction that neither a script nor an API makes: why, the steps in Google Ads, and the button that says they are done. */
export function ByHandCard({ row, onChanged }: { row: QueueRow; onChanged: () => void }) {
  const t = useTranslations("oci.byHand");
  const format = useControlFormat();
  const { site, mayAct } = useControl();
  const { send, pending } = useSend();
  const [open, setOpen] = useState(false);
  const money = format.money(row.valueCents, row.currency);
  const retract = row.kind === "RETRACT";
  const done = () =>
    send({
      method: "POST",
      url: `/api/oci/queue-rows/${row.id}/done-by-hand`,
      body: { siteId: site.publicId, valueCents: row.valueCents },
      done: t("done"),
      onDone: () => {
        setOpen(false);
        onChanged();
      },
    });
  return (
    <div className="cure-card retry">
      <dl>
        <dt>{t("what")}</dt>
        <dd className="strong">{retract ? t("retract") : t("restate", { money })}</dd>
        <dt>{t("who")}</dt>
        <dd>{t("whoBody")}</dd>
        <dt>{t("why")}</dt>
        <dd>{t(`reasons.${row.byHandReason ?? "SCRIPT"}`)}</dd>
      </dl>
      <ol className="sm t2">
        <li>{t("step1")}</li>
        <li>{t("step2", { order: row.orderId })}</li>
        <li>{retract ? t("step3Retract") : t("step3Restate", { money })}</li>
        <li>{t("step4")}</li>
      </ol>
      <div className="row">
        {mayAct && (
          <ConfirmDialog
            open={open}
            onOpenChange={setOpen}
            title={retract ? t("askRetract") : t("askRestate", { money })}
            description={t("askBody")}
            confirm={t("confirm")}
            cancel={t("cancel")}
            destructive={false}
            pending={pending}
            onConfirm={done}
            trigger={<Button tone="primary">{t("doneByHand")}</Button>}
          />
        )}
        <CopyButton value={row.orderId} label={t("copyOrder")} tone="ghost" />
      </div>
    </div>
  );
}
