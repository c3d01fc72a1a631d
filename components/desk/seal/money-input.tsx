"use client";

import { useLocale, useTranslations } from "next-intl";
import type { ComponentProps } from "react";
import { Input } from "#components/ui/input.tsx";
import { currencyCodes } from "#lib/valuation/currencies.ts";

interface MoneyInputProps extends ComponentProps<"input"> {
  currency: string;
  /** Without it the currency stands beside the amount and cannot be changed. */
  onCurrency?: (currency: string) => void;
}

/** An amount with its sign before it and its currency behind. A currency without a sign of its own stands behind only. */
export function MoneyInput({ currency, onCurrency, ...props }: MoneyInputProps) {
  const t = useTranslations("desk.seal");
  const locale = useLocale();
  const sign = new Intl.NumberFormat(locale, { style: "currency", currency, currencyDisplay: "narrowSymbol" })
    .formatToParts(0)
    .find(({ type }) => type === "currency")?.value;
  const codes = currencyCodes.some((code) => code === currency) ? currencyCodes : [currency, ...currencyCodes];
  return (
    <div className="money">
      {sign && sign.length < 3 && (
        <span className="pre" aria-hidden="true">
          {sign}
        </span>
      )}
      <Input inputMode="decimal" autoComplete="off" placeholder="0" {...props} />
      {onCurrency ? (
        <select className="post" aria-label={t("currency")} value={currency} onChange={(event) => onCurrency(event.target.value)}>
          {codes.map((code) => (
            <option key={code} value={code}>
              {code}
            </option>
          ))}
        </select>
      ) : (
        <span className="post">{currency}</span>
      )}
    </div>
  );
}
