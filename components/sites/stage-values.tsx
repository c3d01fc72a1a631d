"use client";

import { useLocale, useTranslations } from "next-intl";
import { Input } from "#components/ui/input.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { weightedStages } from "#lib/tenancy/site-delivery.ts";
import { calculateExpectedValue } from "#lib/valuation/predictive-value.ts";

export type StageShares = Record<(typeof weightedStages)[number], string>;

interface StageValuesProps {
  shares: StageShares;
  onChange: (shares: StageShares) => void;
  /** Null while the average order cannot be read. */
  averageOrderCents: number | null;
  currency: string;
  invalid: boolean;
}

/** A share in percent as it is typed, to the weight that is stored; null while it is none. */
export function weightOf(percent: string): number | null {
  const value = Number(percent.replace(",", "."));
  return percent.trim() === "" || !(value >= 0 && value <= 1000) ? null : Number((value / 100).toFixed(6));
}

/** Each stage with its share of an average order and what that comes to, while it is being typed. */
export function StageValues({ shares, onChange, averageOrderCents, currency, invalid }: StageValuesProps) {
  const t = useTranslations("delivery");
  const format = siteFormat({ locale: useLocale(), timeZone: "UTC", currency });
  const worth = (stage: keyof StageShares) => {
    const weight = weightOf(shares[stage]);
    if (averageOrderCents === null || weight === null) return "–";
    return format.money(calculateExpectedValue(averageOrderCents, weight));
  };
  return (
    <table className="value-table" aria-label={t("stages")}>
      <thead>
        <tr>
          <th scope="col">{t("stage")}</th>
          <th scope="col">{t("share")}</th>
          <th scope="col">{t("worth")}</th>
        </tr>
      </thead>
      <tbody>
        {weightedStages.map((stage) => (
          <tr key={stage}>
            <th scope="row">{t(`stageNames.${stage}`)}</th>
            <td>
              <Input
                aria-label={t("shareOf", { stage: t(`stageNames.${stage}`) })}
                aria-invalid={invalid && weightOf(shares[stage]) === null}
                value={shares[stage]}
                inputMode="decimal"
                autoComplete="off"
                onChange={(event) => onChange({ ...shares, [stage]: event.target.value })}
              />
            </td>
            <td>{worth(stage)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
