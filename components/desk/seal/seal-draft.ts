"use client";

import { useState } from "react";
import { useAmount } from "#components/forms/use-amount.ts";
import type { AmountPreset } from "#lib/leads/desk-shapes.ts";
import type { SealDraft } from "../use-lead-actions.tsx";

/** What the operator is about to seal. The usual amount is chosen before anybody chooses: that makes it two taps. */
export function useSealDraft(presets: AmountPreset[], siteCurrency: string) {
  const [chosenCents, setChosenCents] = useState(() => presets.find(({ isUsual }) => isUsual)?.amountCents ?? null);
  const [currency, setCurrency] = useState(siteCurrency);
  const other = useAmount(currency);
  const [note, setNote] = useState("");
  const isWritten = other.text.trim() !== "";
  const isOther = isWritten || currency !== siteCurrency;
  const shownCents = isOther ? other.cents : chosenCents;
  const isExpected = !isOther && presets.some((preset) => preset.isExpected && preset.amountCents === chosenCents);
  const draft: SealDraft | null = shownCents === null ? null : { amountCents: isExpected ? null : shownCents, shownCents, currency, note };
  return {
    draft,
    isOther,
    /** The amount that is written in place of a usual one. */
    other,
    /** Something is written and it is no amount. */
    error: isWritten && !other.isOpen && other.problem ? other.problem : undefined,
    chosenCents: isOther ? null : chosenCents,
    choose(cents: number) {
      setChosenCents(cents);
      other.setText("");
      setCurrency(siteCurrency);
    },
    currency,
    setCurrency,
    note,
    setNote,
  };
}

export type SealDraftState = ReturnType<typeof useSealDraft>;
