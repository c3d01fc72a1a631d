"use client";

import { Send } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ReactNode, useId } from "react";
import { AmountReadings } from "#components/forms/amount-readings.tsx";
import { MoneyInput } from "#components/forms/money-input.tsx";
import { Choice } from "#components/ui/choice.tsx";
import { Field } from "#components/ui/field.tsx";
import { Textarea } from "#components/ui/input.tsx";
import { useNow } from "#components/workbench/live/clock.tsx";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { undoMs } from "../expected-lead.ts";
import { sendTime } from "../list/lead-state.ts";
import type { SealDraftState } from "./seal-draft.ts";

/** The amounts that this site seals most often. */
export function AmountPresets({ draft }: { draft: SealDraftState }) {
  const t = useTranslations("desk.seal");
  const word = useTranslations();
  const { currency, format } = useDesk();
  const name = useId();
  return (
    <div className="grid grid-cols-2 gap-2 has-[>:only-child]:grid-cols-1" role="radiogroup" aria-label={word("labels.amount")}>
      {draft.presets.map(({ amountCents, label, isExpected }) => (
        <Choice
          key={amountCents}
          className="group grid min-w-0 items-stretch gap-px py-2.25 has-checked:font-normal max-desk:min-h-16 max-desk:content-center max-desk:px-3.5 max-desk:py-3"
          name={name}
          checked={draft.chosenCents === amountCents}
          onChange={() => draft.choose(amountCents)}
        >
          <b className="text-lg leading-5.5 font-semibold tracking-[-0.015em] max-desk:text-xl max-desk:leading-6">
            {format.money(amountCents, currency)}
          </b>
          <span className="line-clamp-2 text-xs wrap-anywhere text-meta group-has-checked:text-support">
            {label ?? t(isExpected ? "expected" : "usualAmount")}
          </span>
        </Choice>
      ))}
    </div>
  );
}

interface OtherAmountProps {
  draft: SealDraftState;
  autoFocus?: boolean;
  onEnter?: () => void;
}

export function OtherAmount({ draft: { other, error, currency, setCurrency }, autoFocus = false, onEnter }: OtherAmountProps) {
  const t = useTranslations("desk.seal");
  return (
    <>
      <Field label={t("other")} error={error}>
        {(control) => (
          <MoneyInput
            {...control}
            autoFocus={autoFocus}
            value={other.text}
            onChange={(event) => other.setText(event.target.value)}
            onKeyDown={(event) => event.key === "Enter" && onEnter?.()}
            currency={currency}
            onCurrency={setCurrency}
          />
        )}
      </Field>
      <AmountReadings amount={other} />
    </>
  );
}

export function NoteField({ draft: { note, setNote } }: { draft: SealDraftState }) {
  const t = useTranslations();
  return (
    <Field label={t("labels.note")} hint={t("desk.seal.noteHint")}>
      {(control) => (
        <Textarea {...control} autoFocus maxLength={500} rows={2} value={note} onChange={(event) => setNote(event.target.value)} />
      )}
    </Field>
  );
}

/** What follows, in small type below the button. */
export function Consequence({ hasIcon = true, children }: { hasIcon?: boolean; children: ReactNode }) {
  return (
    <p className="flex gap-2 text-xs leading-4.5 text-pretty text-support">
      {hasIcon && <Send className="mt-0.5 size-3.5 text-meta" />}
      <span>{children}</span>
    </p>
  );
}

/** What is sent to Google, from when, and until when it can be undone; or why nothing can be sealed now. */
export function SealConsequence({ lead, draft: { ready, other } }: { lead: DeskLead; draft: SealDraftState }) {
  const t = useTranslations("desk");
  const { rules, format, isOffline } = useDesk();
  const now = useNow(30_000);
  if (isOffline || !ready) return <Consequence hasIcon={false}>{isOffline ? t("offline") : other.problem}</Consequence>;
  const { at, isForClick } = sendTime(lead, rules, now);
  return (
    <Consequence>
      {lead.clickBlock
        ? t(`seal.notSent.${lead.clickBlock}`)
        : t.rich("seal.willSend", {
            amount: format.money(ready.shownCents, ready.currency),
            day: format.day(at) === format.day(now) ? "today" : "other",
            time: format.moment(at, now),
            reason: isForClick ? "click" : "other",
            hours: rules.clickMinAgeHours,
            b: (words) => <b className="font-medium">{words}</b>,
          })}{" "}
      {t("seal.undoUntil", { time: format.time(new Date(now.getTime() + undoMs)) })}
    </Consequence>
  );
}
