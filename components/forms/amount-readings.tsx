"use client";

import { useLocale, useTranslations } from "next-intl";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { type MarkMeaning, readAmount } from "#lib/valuation/read-amount.ts";
import { Readings } from "./readings.tsx";

const meanings: MarkMeaning[] = ["decimals", "thousands"];

interface AmountReadingsProps {
  amount: { text: string; currency: string; meaning?: MarkMeaning | undefined; setMeaning: (meaning: MarkMeaning) => void };
  /** In place of "Which amount do you mean?". */
  question?: string;
}

/** Both readings of an amount such as 12.500 in a currency with three decimals; nothing for any other amount. */
export function AmountReadings({ amount: { text, currency, meaning, setMeaning }, question }: AmountReadingsProps) {
  const t = useTranslations("amount");
  const format = siteFormat({ locale: useLocale(), timeZone: "UTC", currency });
  const plain = readAmount(text, currency);
  const isAmbiguous = !plain.ok && plain.code === "AMOUNT_AMBIGUOUS";
  const options = meanings.map((value) => {
    const reading = readAmount(text, currency, value);
    const label = reading.ok ? format.money(reading.cents) : `${text.trim()} ${currency}`;
    return { value, label, note: reading.ok ? t(value) : t("cannotBeKept") };
  });
  return (
    <div className="contents" aria-live="polite">
      {isAmbiguous && (
        <Readings legend={question ?? t("question", { text: text.trim() })} options={options} value={meaning} onChange={setMeaning} />
      )}
    </div>
  );
}
