"use client";

import { useLocale, useTranslations } from "next-intl";
import { useState } from "react";
import { UndoSaleButton } from "#components/contracts/undo-sale-button.tsx";
import { useSend } from "#components/forms/use-send.ts";
import { Button } from "#components/ui/button.tsx";
import { ConfirmDialog } from "#components/ui/confirm-dialog.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";
import type { Sale } from "#lib/seal/sales-list.ts";
import type { SiteId } from "#lib/site.ts";

/** What an operator can do with a line of the list: seal or discard a draft, seal a cancelled sale again, undo the newest step. */
export function SaleActions({ siteId, sale }: { siteId: SiteId; sale: Sale }) {
  const locale = useLocale();
  const money = (cents: number, currency: string) => siteFormat({ locale, timeZone: "UTC", currency }).money(cents);
  const { id, status, version, currency, undo, restoreCents } = sale;
  const worth = status === "DRAFT" ? sale.amountCents : restoreCents;
  return (
    <div className="flex min-w-0 flex-wrap items-center gap-2">
      <UndoSaleButton siteId={siteId} saleId={id} step={undo} money={money} className="max-desk:h-auto max-desk:whitespace-normal" />
      {worth !== null && (
        <SealActions siteId={siteId} saleId={id} version={version} amount={money(worth, currency)} isDraft={status === "DRAFT"} />
      )}
    </div>
  );
}

interface SealActionsProps {
  siteId: SiteId;
  saleId: string;
  version: number;
  /** As it is written on the button. */
  amount: string;
  isDraft: boolean;
}

/** Seals a sale that another system reported; one that is still a draft can be discarded. */
function SealActions({ siteId, saleId, version, amount, isDraft }: SealActionsProps) {
  const t = useTranslations("sales");
  const word = useTranslations();
  const seal = useSend();
  const discard = useSend();
  const [asking, setAsking] = useState(false);
  const change = (path: "confirm" | "cancel") => ({
    method: "POST" as const,
    url: `/api/sites/${siteId}/sales/${saleId}/${path}`,
    body: { expectedVersion: version },
  });
  return (
    <>
      <SubmitButton
        type="button"
        size="sm"
        pending={seal.pending}
        onClick={() => seal.send({ ...change("confirm"), done: t("sealed", { amount }) })}
      >
        {word("actions.seal", { amount })}
      </SubmitButton>
      {isDraft && (
        <ConfirmDialog
          open={asking}
          onOpenChange={setAsking}
          title={t("discardQuestion", { amount })}
          description={t("discardConsequence")}
          confirm={t("discard")}
          cancel={word("actions.keep")}
          pending={discard.pending}
          onConfirm={() => discard.send({ ...change("cancel"), done: t("discarded"), onDone: () => setAsking(false) })}
          trigger={
            <Button tone="ghost" size="sm">
              {t("discard")}
            </Button>
          }
        />
      )}
    </>
  );
}
