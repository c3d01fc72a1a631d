"use client";

import { Button } from "#components/ui/button.tsx";
import { useNow } from "#components/workbench/live/clock.tsx";
import { UndoLabel } from "#components/workbench/undo-label.tsx";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";

/** "Undo 6:12" while it lasts, and nothing after. With a look of its own it is words in a line. */
export function UndoButton({ lead, className }: { lead: DeskLead; className?: string }) {
  const { canAct, actions, isOffline } = useDesk();
  const until = lead.undoUntil;
  const now = useNow(1000, until !== null);
  if (!canAct || !until || Date.parse(until) <= now.getTime()) return null;
  const deed = { disabled: isOffline, onClick: () => actions.undo(lead), children: <UndoLabel until={until} /> };
  return className ? <button type="button" className={className} {...deed} /> : <Button size="big" {...deed} />;
}
