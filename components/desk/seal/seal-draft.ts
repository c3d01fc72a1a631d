"use client";

import { useState } from "react";
import { useAmount } from "#components/forms/use-amount.ts";
import { useDesk } from "../desk-context.tsx";
import type { SealDraft } from "../expected-lead.ts";

/** What the operator is about to seal. The usual amount is preselected, so a seal takes two taps. */
export function useSealDraft() {
  const desk = useDesk();
  const [presets] = useState(desk.presets); // so that they do not change while somebody uses them
  const [chosenCents, setChosenCents] = useState(() => presets.find(({ isUsual }) => isUsual)?.amountCents ?? null);
  const [currency, setCurrency] = useState(desk.currency);
  const other = useAmount(currency);
  const [note, setNote] = useState("");
  const isWritten = other.text.trim() !== "";
  const isOther = isWritten || currency !== desk.currency;
  const shownCents = isOther ? other.cents : chosenCents;
  const isExpected = !isOther && presets.some((preset) => preset.isExpected && preset.amountCents === chosenCents);
  const ready: SealDraft | null = shownCents === null ? null : { amountCents: isExpected ? null : shownCents, shownCents, currency, note };
  return {
    presets,
    /** Null while there is no amount. */
    ready,
    /** The amount that is written in place of a usual one. */
    other,
    /** Something is written and it is no amount. */
    error: isWritten && !other.isOpen && other.problem ? other.problem : undefined,
    chosenCents: isOther ? null : chosenCents,
    choose(cents: number) {
      setChosenCents(cents);
      other.setText("");
      setCurrency(desk.currency);
    },
    currency,
    setCurrency,
    note,
    setNote,
  };
}

export type SealDraftState = ReturnType<typeof useSealDraft>;
