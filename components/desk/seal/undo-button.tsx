"use client";

import { Undo2 } from "lucide-react";
import { useUndoWords } from "#components/contracts/use-undo-words.ts";
import { Button } from "#components/ui/button.tsx";
import { useNow } from "#components/workbench/live/clock.tsx";
import { UndoLabel } from "#components/workbench/undo-label.tsx";
import type { DeskPage } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { useLeadWords } from "../list/use-lead-words.ts";
import type { Undoable } from "../use-lead-actions.tsx";

/** "Undo seal of ₺4,250 (6:12)" while it lasts, and nothing after. With a look of its own it is words in a line. */
export function UndoButton({ lead, className }: { lead: Undoable; className?: string }) {
  const { canAct, actions, isOffline, format } = useDesk();
  const words = useUndoWords(format.money);
  const step = lead.undo;
  const now = useNow(1000, step !== null);
  if (!canAct || !step || Date.parse(step.until) <= now.getTime()) return null;
  const deed = {
    disabled: isOffline,
    onClick: () => actions.undo(lead),
    children: <UndoLabel what={words.offer(step)} until={step.until} />,
  };
  return className ? (
    <button type="button" className={className} {...deed} />
  ) : (
    <Button size="big" className="whitespace-normal" {...deed} />
  );
}

/** The reader's own newest step, also after a reload and when its lead has left the list. */
export function UndoLast({ step }: { step: NonNullable<DeskPage["lastStep"]> }) {
  const { canAct, actions, isOffline, format } = useDesk();
  const offer = useUndoWords(format.money).offer(step.undo);
  const { who } = useLeadWords();
  const now = useNow(1000);
  if (!canAct || Date.parse(step.undo.until) <= now.getTime()) return null;
  return (
    <Button
      tone="ghost"
      size="sm"
      className="h-auto max-w-full whitespace-normal text-left"
      disabled={isOffline}
      onClick={() => actions.undo({ ...step, id: step.leadId })}
    >
      <Undo2 className="size-3.5" />
      <span>
        <UndoLabel what={offer} until={step.undo.until} /> <span className="font-normal text-meta">{who(step)}</span>
      </span>
    </Button>
  );
}
