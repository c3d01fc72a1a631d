"use client";

import { MessageSquareText, Pencil, Stamp, Trash2 } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { Button } from "#components/ui/button.tsx";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { JunkDialog } from "./junk-dialog.tsx";
import { useSealDraft } from "./seal-draft.ts";
import { AmountPresets, NoteField, OtherAmount, SealConsequence } from "./seal-fields.tsx";

interface PhoneSealProps {
  lead: DeskLead;
  onDone: () => void;
}

/** The seal on a phone: the usual amount is chosen, the button lies last, below the thumb. */
export function PhoneSeal({ lead, onDone }: PhoneSealProps) {
  const t = useTranslations();
  const { format, actions, isOffline } = useDesk();
  const draft = useSealDraft();
  const [isWriting, setWriting] = useState<"amount" | "note" | null>(null);
  const [isJunking, setJunking] = useState(false);
  const { ready } = draft;
  return (
    <>
      <div className="grid grid-cols-2 gap-1.5 max-desk:*:px-1">
        {(["qualified", "meeting"] as const).map((stage) => (
          <Button
            key={stage}
            size="sm"
            disabled={isOffline}
            aria-pressed={lead.status === stage}
            onClick={() => {
              actions.move(lead, stage);
              onDone();
            }}
          >
            {t(`states.${stage}`)}
          </Button>
        ))}
      </div>
      <AmountPresets draft={draft} />
      {isWriting === "amount" && <OtherAmount draft={draft} autoFocus />}
      {isWriting === "note" && <NoteField draft={draft} />}
      <div className="flex gap-2 *:min-w-0 *:flex-1">
        <Button aria-pressed={isWriting === "amount"} onClick={() => setWriting("amount")}>
          <Pencil />
          {t("desk.seal.other")}
        </Button>
        <Button aria-pressed={isWriting === "note"} onClick={() => setWriting("note")}>
          <MessageSquareText />
          {t("desk.seal.noteShort")}
        </Button>
      </div>
      <SealConsequence lead={lead} draft={draft} />
      <div className="flex gap-2 max-desk:*:min-h-13 max-desk:*:rounded-[12px]">
        <Button disabled={isOffline} onClick={() => setJunking(true)}>
          <Trash2 className="size-4.5" />
          {t("states.junk")}
        </Button>
        <Button
          tone="primary"
          className="min-w-0 flex-1 text-[1.0625rem]"
          disabled={!ready || isOffline}
          onClick={() => {
            if (ready) actions.seal(lead, ready);
            onDone();
          }}
        >
          <Stamp className="size-4.5" />
          {ready ? t("actions.seal", { amount: format.money(ready.shownCents, ready.currency) }) : t("desk.seal.noAmount")}
        </Button>
      </div>
      <JunkDialog lead={lead} open={isJunking} onOpenChange={setJunking} />
    </>
  );
}
