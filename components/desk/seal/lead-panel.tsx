"use client";

import { useTranslations } from "next-intl";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { isOpen } from "../list/lead-state.ts";
import { ClosedPanel } from "./closed-panel.tsx";
import { SalePanel } from "./sale-panel.tsx";
import { SealPanel } from "./seal-panel.tsx";

/** What can be done with a lead now; a viewer reads how it stands. */
export function LeadPanel({ lead }: { lead: DeskLead }) {
  const t = useTranslations("desk.status");
  const { canAct } = useDesk();
  if (lead.status === "sealed" && lead.sale) return <SalePanel lead={lead} sale={lead.sale} />;
  if (!isOpen(lead)) return <ClosedPanel lead={lead} />;
  return canAct ? <SealPanel key={lead.id} lead={lead} /> : <h3 className="h2">{t(lead.status)}</h3>;
}
