"use client";

import { useTranslations } from "next-intl";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { useDesk } from "../desk-context.tsx";

/** Another call of the visit is sealed: one job sealed twice would be counted by Google twice. */
export function SecondSaleDialog() {
  const t = useTranslations("desk.seal.again");
  const { actions, format } = useDesk();
  const { second } = actions;
  useBackCloses(second !== null, actions.dismissSecond);
  return (
    <ConfirmDialog
      open={second !== null}
      onOpenChange={(open) => !open && actions.dismissSecond()}
      title={t("title")}
      description={second && t("body", { amount: format.money(second.sealedCents, second.sealedCurrency) })}
      confirm={second && t("confirm", { amount: format.money(second.draft.shownCents, second.draft.currency) })}
      cancel={t("keep")}
      destructive={false}
      pending={false}
      onConfirm={() => second && actions.seal(second.lead, second.draft, true)}
    />
  );
}
