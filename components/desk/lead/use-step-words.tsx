"use client";

import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import type { JourneyStep } from "#lib/leads/journey.ts";
import { useDesk } from "../desk-context.tsx";

interface StepWords {
  text: ReactNode;
  note?: ReactNode;
}

const minuteSeconds = 60;
const hourSeconds = 3600;
const daySeconds = 86_400;
const bold = (words: ReactNode) => <b className="font-medium">{words}</b>;
const path = (words: ReactNode) => <span className="text-support">{words}</span>;

/** Each step of a journey as a sentence with a quiet second line. */
export function useStepWords(): (step: JourneyStep) => StepWords {
  const t = useTranslations("desk.journey");
  const detail = useTranslations("desk.detail");
  const { format } = useDesk();

  const spent = (seconds: number) => {
    if (seconds < 5) return undefined;
    if (seconds < minuteSeconds) return t("seconds", { seconds });
    return seconds % minuteSeconds === 0
      ? t("minutesOnly", { minutes: seconds / minuteSeconds })
      : t("minutes", { minutes: Math.floor(seconds / minuteSeconds), seconds: seconds % minuteSeconds });
  };
  const deviceName = (device: string | null) => {
    const key = `device.${device}` as "device.mobile"; // has() checks it before it is used
    return device && detail.has(key) ? detail(key) : null;
  };
  const away = (seconds: number) => {
    if (seconds >= daySeconds) return t("awayDays", { count: Math.round(seconds / daySeconds) });
    if (seconds >= hourSeconds) return t("awayHours", { count: Math.round(seconds / hourSeconds) });
    return t("awayMinutes", { count: Math.round(seconds / minuteSeconds) });
  };
  const money = (cents: number | null, currency: string | null) => (cents === null || !currency ? "" : format.money(cents, currency));

  return (step) => {
    switch (step.kind) {
      case "click": {
        const { keyword, campaign, isReturn } = step;
        const text = keyword ? t.rich(isReturn ? "backAd" : "clickAd", { keyword, b: bold }) : t(isReturn ? "backAdPlain" : "clickAdPlain");
        const note = [campaign && t("campaign", { campaign }), isReturn && !campaign ? t("sameVisitor") : deviceName(step.device)];
        return { text, note: note.filter(Boolean).join(" · ") };
      }
      case "visit":
        return { text: t(step.isReturn ? "visitAgain" : "visit"), note: deviceName(step.device) };
      case "page":
        return {
          text: t.rich(step.depth >= 90 ? "readAll" : step.depth >= 50 ? "readHalf" : "read", { path: step.path, p: path }),
          note: spent(step.seconds),
        };
      case "hover":
        return { text: t("hover") };
      case "lead":
        return {
          text: step.path ? t.rich(step.channel, { path: step.path, p: path }) : t(`${step.channel}Plain`),
          note: step.isThis ? undefined : t("otherLead"),
        };
      case "consent":
        return { text: t(`consent.${step.choice}`), note: step.choice === "given" ? undefined : t("consent.kept") };
      case "gap":
        return { text: t("away", { time: away(step.seconds) }) };
      case "move": {
        const by = step.byYou ? t("byYou") : step.by ? t("by", { name: step.by }) : t("bySystem");
        const amount = money(step.amountCents, step.currency);
        const text = step.isUndo ? t("undone") : t.rich(step.to, { amount, b: bold });
        return { text, note: [by, step.note].filter(Boolean).join(" · ") };
      }
      case "sent":
        return {
          text: t.rich(step.delivery === "CONVERSION" ? "sent" : `sent${step.delivery}`, {
            amount: money(step.amountCents, step.currency),
            b: bold,
          }),
        };
      case "verdict":
        return { text: t(step.verdict) };
      case "todo": {
        const words = { seal: "yourSeal", send: "toSend", confirm: "toConfirm" } as const;
        return { text: <span className="text-support">{t(words[step.what])}</span> };
      }
    }
  };
}
