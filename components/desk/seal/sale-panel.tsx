"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { WhyButton } from "#components/delivery/why-button.tsx";
import { Badge, type State } from "#components/ui/badge.tsx";
import { Button } from "#components/ui/button.tsx";
import type { DeskLead, DeskSale } from "#lib/leads/desk-shapes.ts";
import { useNow } from "../desk-clock.tsx";
import { useDesk } from "../desk-context.tsx";
import { isSaved } from "../desk-state.ts";
import { CancelDialog } from "./cancel-dialog.tsx";
import { CorrectDialog } from "./correct-dialog.tsx";
import { DeliveryNote } from "./delivery-note.tsx";
import { UndoButton } from "./undo-button.tsx";

/** A sealed lead: what it was worth, who said so, what Google knows, and what can still be changed. */
export function SalePanel({ lead, sale }: { lead: DeskLead; sale: DeskSale }) {
  const t = useTranslations("desk.sale");
  const { siteId, timeZone, canAct, format, isOffline } = useDesk();
  const [dialog, setDialog] = useState<"correct" | "cancel" | null>(null);
  const now = useNow(60_000);
  const time = lead.changedAt ? format.moment(lead.changedAt, now) : "";
  const verdict = lead.delivery?.verdict;
  const state: State | undefined = verdict === "CONFIRMED" || verdict === "REJECTED" ? verdict : lead.delivery?.status;
  return (
    <div className="stack">
      <h3 className="h2">{t("title")}</h3>
      <div>
        <div className="row">
          <b className="fig-xl grow">{format.money(sale.amountCents, sale.currency)}</b>
          {state && <Badge state={state} />}
        </div>
        <p className="sm t2">
          {lead.changedByYou ? t("byYou", { time }) : lead.changedBy ? t("by", { name: lead.changedBy, time }) : t("bySystem", { time })}
        </p>
        {sale.isPredicted && <p className="sm t3">{t("predicted")}</p>}
        {sale.note && <p className="sm t2 mt-1">{t("note", { note: sale.note })}</p>}
      </div>
      <DeliveryNote lead={lead} sale={sale} />
      {isSaved(sale) && (
        <WhyButton siteId={siteId} saleId={sale.id} timeZone={timeZone} isCounted={lead.delivery?.verdict === "CONFIRMED"} look="small" />
      )}
      {canAct && (
        <>
          <UndoButton lead={lead} look="btn big" />
          <div className="hr" />
          <div className="stage two">
            <Button size="sm" disabled={isOffline || !isSaved(sale)} onClick={() => setDialog("correct")}>
              {t("correct")}
            </Button>
            <Button size="sm" tone="danger" disabled={isOffline || !isSaved(sale)} onClick={() => setDialog("cancel")}>
              {t("cancel")}
            </Button>
          </div>
          <CorrectDialog lead={lead} sale={sale} open={dialog === "correct"} onOpenChange={(open) => setDialog(open ? "correct" : null)} />
          <CancelDialog lead={lead} sale={sale} open={dialog === "cancel"} onOpenChange={(open) => setDialog(open ? "cancel" : null)} />
        </>
      )}
    </div>
  );
}
