"use client";

import { useTranslations } from "next-intl";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useNow } from "../desk-clock.tsx";
import { useDesk } from "../desk-context.tsx";

/** "Undo 6:12" while it lasts, and nothing after. */
export function UndoButton({ lead, look = "link" }: { lead: DeskLead; look?: "link" | "btn big" }) {
  const t = useTranslations("desk.seal");
  const { canAct, format, actions, isOffline } = useDesk();
  const until = lead.undoUntil === null ? 0 : Date.parse(lead.undoUntil);
  const now = useNow(1000, until > 0);
  const leftMs = until - now.getTime();
  if (!canAct || leftMs <= 0) return null;
  return (
    <button type="button" className={`${look} undo`} disabled={isOffline} onClick={() => actions.undo(lead)}>
      {t("undo", { time: format.countdown(leftMs) })}
    </button>
  );
}
