"use client";

import { useLocale, useTranslations } from "next-intl";
import { cn } from "#components/ui/cn.ts";
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

const stageWords = {
  intent: "delivery.nameKeys.INTENT_CAPTURED",
  qualified: "states.qualified",
  meeting: "states.meeting",
  sealed: "delivery.sealedStage",
} as const;
const first = "py-1 pr-2 text-left font-normal";
const heading = cn(first, "text-xs leading-[inherit] text-meta");

/** Each stage with its share of an average order and what that comes to, while it is being typed. */
export function StageValues({ shares, onChange, averageOrderCents, currency, invalid }: StageValuesProps) {
  const t = useTranslations("delivery");
  const word = useTranslations();
  const format = siteFormat({ locale: useLocale(), timeZone: "UTC", currency });
  const worth = (stage: keyof StageShares) => {
    const weight = weightOf(shares[stage]);
    if (averageOrderCents === null || weight === null) return "–";
    return format.money(calculateExpectedValue(averageOrderCents, weight));
  };
  return (
    <table className="text-sm" aria-label={t("stages")}>
      <thead>
        <tr>
          <th scope="col" className={heading}>
            {t("stage")}
          </th>
          <th scope="col" className={heading}>
            {t("share")}
          </th>
          <th scope="col" className={cn(heading, "text-right")}>
            {t("worth")}
          </th>
        </tr>
      </thead>
      <tbody>
        {weightedStages.map((stage) => (
          <tr key={stage}>
            <th scope="row" className={first}>
              {word(stageWords[stage])}
            </th>
            <td className="py-1">
              <Input
                className="w-21"
                aria-label={t("shareOf", { stage: word(stageWords[stage]) })}
                aria-invalid={invalid && weightOf(shares[stage]) === null}
                value={shares[stage]}
                inputMode="decimal"
                autoComplete="off"
                onChange={(event) => onChange({ ...shares, [stage]: event.target.value })}
              />
            </td>
            <td className="py-1 text-right">{worth(stage)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
