"use client";

import { MessageSquareText, Pencil, Stamp, Trash2 } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { AmountReadings } from "#components/forms/amount-readings.tsx";
import { MoneyInput } from "#components/forms/money-input.tsx";
import { Button } from "#components/ui/button.tsx";
import { Field } from "#components/ui/field.tsx";
import { Textarea } from "#components/ui/input.tsx";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { CallBack } from "../lead/call-back.tsx";
import { AmountPresets } from "./amount-presets.tsx";
import { JunkDialog } from "./junk-dialog.tsx";
import { useSealDraft } from "./seal-draft.ts";
import { Told } from "./told.tsx";

/** The seal on a phone: the usual amount is chosen, the button lies last, below the thumb. */
export function PhoneSeal({ lead, fullPhone, onDone }: { lead: DeskLead; fullPhone: string | null; onDone: () => void }) {
  const t = useTranslations("desk");
  const { presets, currency, format, actions, isOffline } = useDesk();
  const draft = useSealDraft(presets, currency);
  const [isWriting, setWriting] = useState<"amount" | "note" | null>(null);
  const [isJunking, setJunking] = useState(false);
  const ready = draft.draft;
  const move = (to: "qualified" | "meeting") => {
    actions.move(lead, to);
    onDone();
  };
  return (
    <>
      <div className="stage">
        {fullPhone ? <CallBack phone={fullPhone} /> : <span />}
        <Button size="sm" disabled={isOffline} aria-pressed={lead.status === "qualified"} onClick={() => move("qualified")}>
          {t("seal.qualified")}
        </Button>
        <Button size="sm" disabled={isOffline} aria-pressed={lead.status === "meeting"} onClick={() => move("meeting")}>
          {t("seal.meeting")}
        </Button>
      </div>
      <AmountPresets draft={draft} />
      {isWriting === "amount" && (
        <>
          <Field label={t("seal.other")} error={draft.error}>
            {(control) => (
              <MoneyInput
                {...control}
                autoFocus
                value={draft.other.text}
                onChange={(event) => draft.other.setText(event.target.value)}
                currency={draft.currency}
                onCurrency={draft.setCurrency}
              />
            )}
          </Field>
          <AmountReadings amount={draft.other} />
        </>
      )}
      {isWriting === "note" && (
        <Field label={t("seal.noteLabel")} hint={t("seal.noteHint")}>
          {(control) => (
            <Textarea
              {...control}
              autoFocus
              maxLength={500}
              rows={2}
              value={draft.note}
              onChange={(event) => draft.setNote(event.target.value)}
            />
          )}
        </Field>
      )}
      <div className="row">
        <Button className="grow" aria-pressed={isWriting === "amount"} onClick={() => setWriting("amount")}>
          <Pencil className="i" />
          {t("seal.other")}
        </Button>
        <Button className="grow" aria-pressed={isWriting === "note"} onClick={() => setWriting("note")}>
          <MessageSquareText className="i" />
          {t("seal.noteShort")}
        </Button>
      </div>
      {isOffline ? <p className="told">{t("offline")}</p> : ready && <Told lead={lead} draft={ready} />}
      <div className="row thumb">
        <Button disabled={isOffline} onClick={() => setJunking(true)}>
          <Trash2 className="i i-18" />
          {t("seal.junk")}
        </Button>
        <Button
          tone="primary"
          className="grow"
          disabled={!ready || isOffline}
          onClick={() => {
            if (ready) actions.seal(lead, ready);
            onDone();
          }}
        >
          <Stamp className="i i-18" />
          {ready ? t("seal.button", { amount: format.money(ready.shownCents, ready.currency) }) : t("seal.noAmount")}
        </Button>
      </div>
      <JunkDialog lead={lead} open={isJunking} onOpenChange={setJunking} />
    </>
  );
}
