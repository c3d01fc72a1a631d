"use client";

import { useTranslations } from "next-intl";
import type { DeskFormat } from "#lib/i18n/desk-format.ts";
import type { DeskFigures } from "#lib/leads/desk-shapes.ts";
import type { FigureKey } from "./figure-list.ts";

const knownCodes = ["CLICK_EXPIRED", "MAX_ATTEMPTS", "MANUAL_FAIL"] as const;

/** Each figure with the line below it. */
export function useFigureWords(figures: DeskFigures, format: DeskFormat, open: number): Record<FigureKey, { figure: string; sub: string }> {
  const t = useTranslations("desk.figures");
  const word = useTranslations();
  const { days, currency, confirmed, waiting, failed, lastWeekMedianMinutes, otherCurrencySales, rules } = figures;
  const today = days.at(-1);
  const lastWeek = days.at(-8);
  const duration = (minutes: number) =>
    minutes < 100
      ? word("labels.minutes", { minutes: format.number(Math.round(minutes)) })
      : t("durationHours", { hours: format.number(Math.round(minutes / 60)) });
  const leads = today?.leads ?? 0;
  const sealed = today?.sealed ?? 0;
  const value = today?.valueCents ?? 0;
  const inCurrency = sealed - otherCurrencySales;
  const average = format.money(inCurrency > 0 ? Math.round(value / inCurrency / 100) * 100 : 0, currency);
  const cause = knownCodes.find((code) => code === failed.topCode) ?? "OTHER";
  const median = today?.medianMinutes;
  return {
    leads: {
      figure: format.number(leads),
      sub: t("lastWeek", { count: lastWeek?.leads ?? 0, weekday: lastWeek ? format.plainDay(lastWeek.day, { weekday: "long" }) : "" }),
    },
    sealed: { figure: format.number(sealed), sub: t("waitForYou", { count: open }) },
    value: {
      figure: format.money(value, currency),
      sub:
        sealed === 0
          ? t("noSale")
          : otherCurrencySales > 0
            ? t("otherCurrencies", { amount: average, count: otherCurrencySales })
            : t("average", { amount: average }),
    },
    delivered: {
      figure: format.number(today?.delivered ?? 0),
      // Google reports no verdict for script uploads, so none is missing.
      sub: rules.syncMethod === "script" && confirmed === 0 ? t("byScript") : t("confirmed", { count: confirmed }),
    },
    waiting: {
      figure: format.number(waiting.count),
      sub:
        waiting.count === 0
          ? t("nothingWaits")
          : Object.entries(waiting.valueCents)
              .map(([each, cents]) => format.money(cents, each))
              .join(" + "),
    },
    failed: { figure: format.number(failed.count), sub: failed.count === 0 ? t("nothingFailed") : t(`failedBecause.${cause}`) },
    minutes: {
      figure: median === null || median === undefined ? "–" : duration(median),
      sub: lastWeekMedianMinutes === null ? t("medianOnly") : t("median", { minutes: duration(lastWeekMedianMinutes) }),
    },
  };
}
