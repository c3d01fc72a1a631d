"use client";

import { useState } from "react";
import type { AmountPreset } from "#lib/leads/desk-shapes.ts";
import { parseAmount } from "#lib/leads/parse-amount.ts";
import type { SealDraft } from "../use-lead-actions.tsx";

/** What the operator is about to seal. The usual amount is chosen before anybody chooses: that makes it two taps. */
export function useSealDraft(presets: AmountPreset[], siteCurrency: string) {
  const [chosenCents, setChosenCents] = useState(() => presets.find(({ isUsual }) => isUsual)?.amountCents ?? null);
  const [otherText, setOtherText] = useState("");
  const [currency, setCurrency] = useState(siteCurrency);
  const [note, setNote] = useState("");
  const otherCents = parseAmount(otherText);
  const isOther = otherText.trim() !== "" || currency !== siteCurrency;
  const shownCents = isOther ? otherCents : chosenCents;
  const isExpected = !isOther && presets.some((preset) => preset.isExpected && preset.amountCents === chosenCents);
  const draft: SealDraft | null = shownCents === null ? null : { amountCents: isExpected ? null : shownCents, shownCents, currency, note };
  return {
    draft,
    isOther,
    /** Something is written and it is no amount. */
    isInvalid: otherText.trim() !== "" && otherCents === null,
    chosenCents: isOther ? null : chosenCents,
    choose(cents: number) {
      setChosenCents(cents);
      setOtherText("");
      setCurrency(siteCurrency);
    },
    otherText,
    setOtherText,
    currency,
    setCurrency,
    note,
    setNote,
  };
}

export type SealDraftState = ReturnType<typeof useSealDraft>;
