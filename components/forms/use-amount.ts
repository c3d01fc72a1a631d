"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { type MarkMeaning, readAmount } from "#lib/valuation/read-amount.ts";

/** An amount while it is being typed. The chosen meaning of a mark is dropped when the text or the currency changes. `present` does not count as a new amount. */
export function useAmount(currency: string, initial = "", present: number | null = null) {
  const t = useTranslations("amount");
  const [text, setText] = useState(initial);
  const [said, setSaid] = useState<{ text: string; currency: string; meaning: MarkMeaning }>();
  const meaning = said?.text === text && said.currency === currency ? said.meaning : undefined;
  const reading = readAmount(text, currency, meaning);
  const isSame = reading.ok && reading.cents === present;
  const problems: Partial<Record<string, string>> = { AMOUNT_AMBIGUOUS: t("choose"), AMOUNT_TOO_FINE: t("tooFine") };
  return {
    text,
    setText,
    currency,
    meaning,
    setMeaning: (chosen: MarkMeaning) => setSaid({ text, currency, meaning: chosen }),
    cents: reading.ok && !isSame ? reading.cents : null,
    /** Two readings, and nobody has chosen one. The readings ask; the field is not wrong. */
    isOpen: !reading.ok && reading.code === "AMOUNT_AMBIGUOUS",
    /** The message that says why there is no amount. */
    problem: isSame ? t("same") : reading.ok ? null : (problems[reading.code] ?? t("invalid")),
  };
}
