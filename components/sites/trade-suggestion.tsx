"use client";

import { useLocale, useTranslations } from "next-intl";
import { Field } from "#components/ui/field.tsx";
import { Select } from "#components/ui/select.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { suggestedOrder, trades } from "#lib/valuation/trades.ts";

/** Fills in a usual order of the owner's trade. Nothing of it is stored; the figure stays the owner's. */
export function TradeSuggestion({ currency, onSuggest }: { currency: string; onSuggest: (order: string) => void }) {
  const t = useTranslations("trades");
  const format = siteFormat({ locale: useLocale(), timeZone: "UTC", currency });
  const offered = trades.flatMap((trade) => {
    const order = suggestedOrder(trade, currency);
    return order === null ? [] : [{ trade, order }];
  });
  if (offered.length === 0) return null;
  return (
    <Field label={t("label")} hint={t("hint")}>
      {(control) => (
        <Select {...control} defaultValue="" onChange={(event) => event.target.value && onSuggest(event.target.value)}>
          <option value="">{t("choose")}</option>
          {offered.map(({ trade, order }) => (
            <option key={trade} value={order}>
              {t("option", { trade: t(`names.${trade}`), order: format.money(order * 100) })}
            </option>
          ))}
        </Select>
      )}
    </Field>
  );
}
