"use client";

import { useLocale, useTranslations } from "next-intl";
import type { ComponentProps } from "react";
import { cn } from "#components/ui/cn.ts";
import { Input } from "#components/ui/input.tsx";
import { currencyCodes } from "#lib/valuation/currencies.ts";

const affix = "absolute top-1/2 -translate-y-1/2 text-meta";

interface MoneyInputProps extends ComponentProps<"input"> {
  currency: string;
  /** Without it the currency stands beside the amount and cannot be changed. */
  onCurrency?: (currency: string) => void;
}

/** An amount with its sign before it and its currency behind. A currency without a sign of its own stands behind only. */
export function MoneyInput({ currency, onCurrency, ...props }: MoneyInputProps) {
  const t = useTranslations();
  const locale = useLocale();
  const sign = new Intl.NumberFormat(locale, { style: "currency", currency, currencyDisplay: "narrowSymbol" })
    .formatToParts(0)
    .find(({ type }) => type === "currency")?.value;
  const hasSign = sign !== undefined && sign.length < 3;
  const codes = currencyCodes.some((code) => code === currency) ? currencyCodes : [currency, ...currencyCodes];
  return (
    <div className="relative">
      {hasSign && (
        <span className={cn(affix, "left-3")} aria-hidden="true">
          {sign}
        </span>
      )}
      <Input className={cn("pr-18", hasSign && "pl-7.5")} inputMode="decimal" autoComplete="off" placeholder="0" {...props} />
      {onCurrency ? (
        <select
          className={cn(affix, "right-1 min-h-6.5 cursor-pointer rounded-sm bg-transparent px-1 text-xs font-medium max-desk:min-h-10")}
          aria-label={t("labels.currency")}
          value={currency}
          onChange={(event) => onCurrency(event.target.value)}
        >
          {codes.map((code) => (
            <option key={code} value={code}>
              {code}
            </option>
          ))}
        </select>
      ) : (
        <span className={cn(affix, "right-3 text-xs font-medium")}>{currency}</span>
      )}
    </div>
  );
}
