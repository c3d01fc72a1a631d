"use client";

import Link from "next/link";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { WhyButton } from "#components/delivery/why-button.tsx";
import type { SaleChange } from "#components/forms/sale-dialogs.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { Badge, type State } from "#components/ui/badge.tsx";
import { Button } from "#components/ui/button.tsx";
import { latePart } from "#components/ui/late-part.tsx";
import { useNow } from "#components/workbench/live/clock.tsx";
import type { DeskLead, DeskSale } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { isSaved } from "../list/lead-state.ts";
import { Consequence } from "./seal-fields.tsx";
import { UndoButton } from "./undo-button.tsx";

const Changes = latePart(() => import("./sale-changes.tsx").then(({ SaleChanges }) => SaleChanges));
const near = { onPointerEnter: Changes.load, onFocus: Changes.load };

/** A sealed lead: what it was worth, who said so, what Google knows, and what can still be changed. */
export function SalePanel({ lead, sale }: { lead: DeskLead; sale: DeskSale }) {
  const t = useTranslations();
  const { siteId, timeZone, canAct, format, isOffline } = useDesk();
  const [asked, setAsked] = useState<SaleChange | null>(null);
  const now = useNow(60_000);
  const time = lead.changedAt ? format.moment(lead.changedAt, now) : "";
  const verdict = lead.delivery?.verdict;
  const state: State | undefined =
    verdict === "CONFIRMED" || verdict === "REJECTED" ? verdict : lead.delivery?.isNotSent ? "NOT_SENT" : lead.delivery?.status;
  return (
    <div className="grid gap-3">
      <h3 className="text-base font-semibold tracking-[-0.003em]">{t("states.sealed")}</h3>
      <div>
        <div className="flex items-center gap-2">
          <b className="flex-1 text-2xl font-semibold tracking-[-0.028em]">{format.money(sale.amountCents, sale.currency)}</b>
          {state && <Badge state={state} />}
        </div>
        <p className="text-sm wrap-anywhere text-support">
          {lead.changedByYou ? t("desk.sale.byYou", { time }) : lead.changedBy ? t("desk.sale.by", { name: lead.changedBy, time }) : time}
        </p>
        {sale.isPredicted && <p className="text-sm text-meta">{t("desk.sale.predicted")}</p>}
        {sale.note && <p className="mt-1 text-sm text-support">{t("desk.sale.note", { note: sale.note })}</p>}
      </div>
      <DeliveryNote lead={lead} sale={sale} />
      {isSaved(sale) && <WhyButton siteId={siteId} saleId={sale.id} timeZone={timeZone} isCounted={verdict === "CONFIRMED"} look="small" />}
      {canAct && (
        <>
          <UndoButton lead={lead} />
          <div className="my-1 h-px bg-line-1" />
          <div className="grid grid-cols-2 gap-1.5 *:px-1 max-desk:*:px-1">
            <Button size="sm" {...near} disabled={isOffline || !isSaved(sale)} onClick={() => setAsked("correct")}>
              {t("actions.correct")}
            </Button>
            <Button size="sm" tone="danger" {...near} disabled={isOffline || !isSaved(sale)} onClick={() => setAsked("cancel")}>
              {t("actions.cancelSale")}
            </Button>
          </div>
          {isOffline && <Consequence hasIcon={false}>{t("desk.offline")}</Consequence>}
          <Changes.Part isWanted={asked !== null} lead={lead} sale={sale} asked={asked} onAsk={setAsked} />
        </>
      )}
    </div>
  );
}

/** What Google knows of a sale, in a sentence; a sale that is not delivered says why. */
function DeliveryNote({ lead: { delivery }, sale }: { lead: DeskLead; sale: DeskSale }) {
  const t = useTranslations("desk");
  const { format, siteId } = useDesk();
  const now = useNow(30_000);
  if (sale.deliveryBlock) return <Consequence>{t(`seal.notSent.${sale.deliveryBlock}`)}</Consequence>;
  if (!delivery) return null;
  const { status, pendingAdjustment, notBefore } = delivery;
  const isRejected = status === "COMPLETED" && delivery.verdict === "REJECTED" && !pendingAdjustment;
  const isDue = Date.parse(notBefore) <= now.getTime();
  const time = format.moment(delivery.uploadedAt ?? notBefore, now);
  const known = () => {
    if (isRejected) return t("sale.REJECTED");
    if (delivery.isNotSent) return t("sale.NOT_SENT");
    // A moment that has passed is no promise: it goes with the next run.
    if (isDue && (status === "QUEUED" || status === "RETRY")) return t(status === "QUEUED" ? "sale.due" : "sale.retryDue");
    return t(`sale.${status}`, { time });
  };
  return (
    <Consequence>
      {known()} {!isRejected && pendingAdjustment && t(`sale.${pendingAdjustment}`)}{" "}
      {((status === "FAILED" && !delivery.isNotSent) || isRejected || pendingAdjustment) && (
        <Link className="link" href={sitePath(siteId, "/oci-control")}>
          {t("sale.openControl")}
        </Link>
      )}
    </Consequence>
  );
}
