"use client";

import { RotateCcw } from "lucide-react";
import { useTranslations } from "next-intl";
import { Button } from "#components/ui/button.tsx";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { isOpen } from "../list/lead-state.ts";
import { useLeadWords } from "../list/use-lead-words.ts";
import { SalePanel } from "./sale-panel.tsx";
import { SealPanel } from "./seal-panel.tsx";
import { UndoButton } from "./undo-button.tsx";

const title = "text-base font-semibold tracking-[-0.003em]";

/** What can be done with a lead now; a viewer reads how it stands. */
export function LeadPanel({ lead }: { lead: DeskLead }) {
  const t = useTranslations("states");
  const { canAct } = useDesk();
  if (lead.status === "sealed" && lead.sale) return <SalePanel lead={lead} sale={lead.sale} />;
  if (!isOpen(lead)) return <ClosedPanel lead={lead} />;
  return canAct ? <SealPanel key={lead.id} lead={lead} /> : <h3 className={title}>{t(lead.status)}</h3>;
}

/** A lead that ended without a sale. It can be opened again. */
function ClosedPanel({ lead }: { lead: DeskLead }) {
  const t = useTranslations("desk");
  const labels = useTranslations("labels");
  const { canAct, actions, isOffline } = useDesk();
  const words = useLeadWords();
  const kind = lead.status === "cancelled" ? "cancelled" : "closed";
  return (
    <div className="grid gap-3">
      <h3 className={title}>{kind === "closed" ? labels("noSale") : t("journey.cancelled")}</h3>
      <p className="text-sm wrap-anywhere text-support">{words.decided(lead)}</p>
      <p className="text-sm text-meta">{t(`sale.${kind}Body`)}</p>
      {canAct && (
        <>
          <UndoButton lead={lead} />
          <Button disabled={isOffline} onClick={() => actions.move(lead, "intent")}>
            <RotateCcw />
            {t("seal.reopen")}
          </Button>
          {isOffline && <p className="text-xs text-support">{t("offline")}</p>}
        </>
      )}
    </div>
  );
}
