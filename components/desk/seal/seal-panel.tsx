"use client";

import { MessageSquareText, Stamp } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { AmountReadings } from "#components/forms/amount-readings.tsx";
import { MoneyInput } from "#components/forms/money-input.tsx";
import { Button } from "#components/ui/button.tsx";
import { Field } from "#components/ui/field.tsx";
import { Textarea } from "#components/ui/input.tsx";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useCommand, useDesk } from "../desk-context.tsx";
import { AmountPresets } from "./amount-presets.tsx";
import { useSealDraft } from "./seal-draft.ts";
import { StageButtons } from "./stage-buttons.tsx";
import { Told } from "./told.tsx";

/** Seals an open lead: an amount, the button that names it, and below it what follows. */
export function SealPanel({ lead }: { lead: DeskLead }) {
  const t = useTranslations("desk");
  const { presets, currency, format, actions, isOffline } = useDesk();
  const draft = useSealDraft(presets, currency);
  const [hasNote, setHasNote] = useState(false);
  const ready = draft.draft;
  const seal = () => {
    if (ready && !isOffline) actions.seal(lead, ready);
  };
  useCommand("seal", seal);
  return (
    <div className="stack">
      <div className="row">
        <h3 className="h2 grow">{t("seal.title")}</h3>
        <span className="xs t3">{t(presets.some(({ isExpected }) => isExpected) ? "seal.expectedTitle" : "seal.usual")}</span>
      </div>
      <AmountPresets draft={draft} />
      <Field label={t("seal.other")} error={draft.error}>
        {(control) => (
          <MoneyInput
            {...control}
            value={draft.other.text}
            onChange={(event) => draft.other.setText(event.target.value)}
            onKeyDown={(event) => event.key === "Enter" && seal()}
            currency={draft.currency}
            onCurrency={draft.setCurrency}
          />
        )}
      </Field>
      <AmountReadings amount={draft.other} />
      <Button tone="primary" size="big" disabled={!ready || isOffline} onClick={seal} aria-keyshortcuts="s">
        <Stamp className="i" />
        {ready ? t("seal.button", { amount: format.money(ready.shownCents, ready.currency) }) : t("seal.noAmount")}
        <kbd>{"S"}</kbd>
      </Button>
      {isOffline ? (
        <p className="told">{t("offline")}</p>
      ) : ready ? (
        <Told lead={lead} draft={ready} />
      ) : (
        <p className="told">{draft.other.problem}</p>
      )}
      {hasNote ? (
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
      ) : (
        <Button tone="ghost" size="sm" className="justify-self-start -ml-[9px]" onClick={() => setHasNote(true)}>
          <MessageSquareText className="i i-14" />
          {t("seal.note")}
        </Button>
      )}
      <div className="hr" />
      <StageButtons lead={lead} />
    </div>
  );
}
