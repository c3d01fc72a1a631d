"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import type { Actions } from "#components/dashboard/oci-control/actions/use-actions.tsx";
import { useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { Button } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import type { QueueRow } from "#lib/oci/queue/rows.ts";

/** Gives a person's work back to the API, after saying what happens when somebody has done it already. */
export function TryApi({ row, actions }: { row: QueueRow; actions: Actions }) {
  const t = useTranslations("oci.tryApi");
  const format = useControlFormat();
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
