"use client";

import { type SaleChange, SaleDialogs } from "#components/forms/sale-dialogs.tsx";
import { useNow } from "#components/workbench/live/clock.tsx";
import type { DeskLead, DeskSale } from "#lib/leads/desk-shapes.ts";
import { adjustmentPath } from "#lib/oci/queue/adjustment-path.ts";
import { useDesk } from "../desk-context.tsx";

interface SaleChangesProps {
  lead: DeskLead;
  sale: DeskSale;
  asked: SaleChange | null;
  onAsk: (change: SaleChange | null) => void;
}

/** Corrects or cancels the sale of a lead. */
export function SaleChanges({ lead, sale, asked, onAsk }: SaleChangesProps) {
  const { format, rules, actions } = useDesk();
  const now = useNow(60_000);
  const path = adjustmentPath(sale, {
    syncMethod: rules.syncMethod,
    wasRejected: lead.delivery?.verdict === "REJECTED",
    isInFlight: lead.delivery?.status === "PROCESSING",
    now,
  });
  return (
    <SaleDialogs
      sale={sale}
      path={path}
      date={format.date(sale.adjustableUntil)}
      money={format.money}
      asked={asked}
      onAsk={onAsk}
      onCorrect={(cents, reason) => {
        onAsk(null);
        actions.correct(lead, cents, reason);
      }}
      onCancel={(reason) => {
        onAsk(null);
        actions.cancel(lead, reason);
      }}
    />
  );
}
