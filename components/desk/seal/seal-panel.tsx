"use client";

import { MessageSquareText, Stamp } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { Button } from "#components/ui/button.tsx";
import { Kbd } from "#components/ui/kbd.tsx";
import { useKeys } from "#components/ui/use-keys.ts";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { JunkDialog } from "./junk-dialog.tsx";
import { useSealDraft } from "./seal-draft.ts";
import { AmountPresets, NoteField, OtherAmount, SealConsequence } from "./seal-fields.tsx";

/** Seals an open lead: an amount, the button that names it, and below it what follows. */
export function SealPanel({ lead }: { lead: DeskLead }) {
  const t = useTranslations("desk.seal");
  const word = useTranslations();
  const { format, actions, isOffline } = useDesk();
  const draft = useSealDraft();
  const [hasNote, setHasNote] = useState(false);
  const { ready } = draft;
  const seal = () => {
    if (ready && !isOffline) actions.seal(lead, ready);
  };
  useKeys({ s: seal });
  return (
    <div className="grid gap-3">
      <div className="flex items-center gap-2">
        <h3 className="flex-1 text-base font-semibold tracking-[-0.003em]">{t("title")}</h3>
        <span className="text-xs text-meta">{t(draft.presets.some(({ isExpected }) => isExpected) ? "expectedTitle" : "usual")}</span>
      </div>
      <AmountPresets draft={draft} />
      <OtherAmount draft={draft} onEnter={seal} />
      <Button tone="primary" size="big" disabled={!ready || isOffline} onClick={seal} aria-keyshortcuts="s">
        <Stamp />
        {ready ? word("actions.seal", { amount: format.money(ready.shownCents, ready.currency) }) : t("noAmount")}
        <Kbd onAccent>{"S"}</Kbd>
      </Button>
      <SealConsequence lead={lead} draft={draft} />
      {hasNote ? (
        <NoteField draft={draft} />
      ) : (
        <Button tone="ghost" size="sm" className="-ml-2.25 justify-self-start" onClick={() => setHasNote(true)}>
          <MessageSquareText className="size-3.5" />
          {t("note")}
        </Button>
      )}
      <div className="my-1 h-px bg-line-1" />
      <StageButtons lead={lead} />
    </div>
  );
}

/** The steps short of a sale, and the way out. The stage a lead has is pressed. */
function StageButtons({ lead }: { lead: DeskLead }) {
  const t = useTranslations();
  const { actions, isOffline } = useDesk();
  const [isJunking, setJunking] = useState(false);
  useKeys({ x: () => !isOffline && setJunking(true) });
  return (
    <div className="grid grid-cols-3 gap-1.5 *:px-1">
      {(["qualified", "meeting"] as const).map((stage) => (
        <Button
          key={stage}
          size="sm"
          disabled={isOffline}
          aria-pressed={lead.status === stage}
          onClick={() => lead.status !== stage && actions.move(lead, stage)}
        >
          {t(`states.${stage}`)}
        </Button>
      ))}
      <Button size="sm" tone="danger" disabled={isOffline} onClick={() => setJunking(true)} aria-keyshortcuts="x">
        {t("states.junk")}
        <Kbd>{"X"}</Kbd>
      </Button>
      <JunkDialog lead={lead} open={isJunking} onOpenChange={setJunking} />
    </div>
  );
}
