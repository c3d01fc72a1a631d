"use client";

import { RotateCcw } from "lucide-react";
import { useTranslations } from "next-intl";
import { Button } from "#components/ui/button.tsx";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { useLeadWords } from "../list/use-lead-words.ts";
import { UndoButton } from "./undo-button.tsx";

/** A lead that ended without a sale. It can be opened again. */
export function ClosedPanel({ lead }: { lead: DeskLead }) {
  const t = useTranslations("desk");
  const { canAct, actions, isOffline } = useDesk();
  const words = useLeadWords();
  const isCancelled = lead.status === "cancelled";
  return (
    <div className="stack">
      <h3 className="h2">{t(isCancelled ? "sale.cancelledTitle" : "sale.closedTitle")}</h3>
      <p className="sm t2">{words.decided(lead)}</p>
      <p className="sm t3">{t(isCancelled ? "sale.cancelledBody" : "sale.closedBody")}</p>
      {canAct && (
        <>
          <UndoButton lead={lead} look="btn big" />
          <Button disabled={isOffline} onClick={() => actions.move(lead, "intent")}>
            <RotateCcw className="i" />
            {t("seal.reopen")}
          </Button>
        </>
      )}
    </div>
  );
}
