"use client";

import { useLocale, useTranslations } from "next-intl";
import { cn } from "#components/ui/cn.ts";
import { Input } from "#components/ui/input.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { sentShares, sentValueCents } from "#lib/valuation/decayed-value.ts";
import { calculateExpectedValue } from "#lib/valuation/predictive-value.ts";

interface StageValuesProps {
  /** What a sale without an amount is worth, in percent of an average order, as it is typed. */
  sealedShare: string;
  onChange: (share: string) => void;
  /** Null while the average order cannot be read. */
  averageOrderCents: number | null;
  currency: string;
  invalid: boolean;
  /** Stages before the seal are sent as well. */
  sendsStages: boolean;
}

/** A share in percent as it is typed, to the weight that is stored; null while it is none. */
export function weightOf(percent: string): number | null {
  const value = Number(percent.replace(",", "."));
  return percent.trim() === "" || !(value >= 0 && value <= 1000) ? null : Number((value / 100).toFixed(6));
}

const first = "py-1 pr-2 text-left font-normal text-pretty";
const heading = cn(first, "text-xs leading-[inherit] text-meta");

/** What Google is sent for a sale without an amount and for each stage before it: the very figures, with how they come about. */
export function StageValues({ sealedShare, onChange, averageOrderCents, currency, invalid, sendsStages }: StageValuesProps) {
  const t = useTranslations("delivery");
  const format = siteFormat({ locale: useLocale(), timeZone: "UTC", currency });
  const weight = weightOf(sealedShare);
  const money = (cents: number | null) => (cents === null ? "–" : format.money(cents));
  const sealedCents = averageOrderCents === null || weight === null ? null : calculateExpectedValue(averageOrderCents, weight);
  return (
    <div className="grid gap-2">
      <table className="text-sm" aria-label={t("stages")}>
        <thead>
          <tr>
            <th scope="col" className={heading}>
              {t("sentFor")}
            </th>
            <th scope="col" className={heading}>
              {t("share")}
            </th>
            <th scope="col" className={cn(heading, "text-right")}>
              {t("sentValue")}
            </th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row" className={first}>
              {t("sealedStage")}
            </th>
            <td className="py-1">
              <Input
                className="w-21"
                aria-label={t("shareOf", { stage: t("sealedStage") })}
                aria-invalid={invalid && weight === null}
                value={sealedShare}
                inputMode="decimal"
                autoComplete="off"
                onChange={(event) => onChange(event.target.value)}
              />
            </td>
            <td className="py-1 text-right">{money(sealedCents)}</td>
          </tr>
          {sendsStages &&
            sentShares.map(({ untilDay, percent }) => (
              <tr key={percent}>
                <th scope="row" className={first}>
                  {untilDay === null ? t("stageLater") : t("stageWithin", { days: untilDay })}
                </th>
                <td className="py-1">{t("sharePercent", { percent })}</td>
                <td className="py-1 text-right">{money(averageOrderCents === null ? null : sentValueCents(averageOrderCents, percent))}</td>
              </tr>
            ))}
        </tbody>
      </table>
      <p className="text-xs text-meta text-pretty">{t(sendsStages ? "stagesHow" : "stagesOff")}</p>
    </div>
  );
}
