"use client";

import {
  CalendarCheck,
  CheckCheck,
  CircleX,
  Eraser,
  Eye,
  FileText,
  type LucideIcon,
  MousePointerClick,
  Pencil,
  Pointer,
  RotateCcw,
  ScrollText,
  Send,
  ShieldCheck,
  ShieldOff,
  Stamp,
  StickyNote,
  Trash2,
  Undo2,
  UserCheck,
  UserPen,
} from "lucide-react";
import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import type { TimelineTone } from "#components/ui/timeline.tsx";
import type { JourneyStep } from "#lib/leads/journey.ts";
import { useDesk } from "../desk-context.tsx";
import { channelIcons } from "../list/lead-state.ts";

interface StepLook {
  icon?: LucideIcon;
  /** Ad clicks are accented, what a person reached is green, what is to come is empty. */
  tone?: TimelineTone;
  text: ReactNode;
  /** A quiet second line. */
  note?: ReactNode;
}

const moveIcons: Record<Extract<JourneyStep, { kind: "move" }>["to"], LucideIcon> = {
  intent: RotateCcw,
  qualified: UserCheck,
  meeting: CalendarCheck,
  sealed: Stamp,
  corrected: Pencil,
  junk: Trash2,
  cancelled: CircleX,
};
const minuteSeconds = 60;
const hourSeconds = 3600;
const daySeconds = 86_400;
const bold = (words: ReactNode) => <b className="font-medium">{words}</b>;
const path = (words: ReactNode) => <span className="text-support">{words}</span>;

/** Lengths, devices and amounts as a journey writes them. */
function useStepParts() {
  const t = useTranslations("desk.journey");
  const word = useTranslations();
  const detail = useTranslations("desk.detail");
  const { format } = useDesk();
  return {
    /** Nothing for a glance. */
    spent(seconds: number) {
      if (seconds < 5) return undefined;
      if (seconds < minuteSeconds) return t("seconds", { seconds });
      const minutes = Math.floor(seconds / minuteSeconds);
      return seconds % minuteSeconds === 0
        ? word("labels.minutes", { minutes })
        : t("minutes", { minutes, seconds: seconds % minuteSeconds });
    },
    away(seconds: number) {
      if (seconds >= daySeconds) return t("awayDays", { count: Math.round(seconds / daySeconds) });
      if (seconds >= hourSeconds) return t("awayHours", { count: Math.round(seconds / hourSeconds) });
      return t("awayMinutes", { count: Math.round(seconds / minuteSeconds) });
    },
    device(device: string | null) {
      const key = `device.${device}` as "device.mobile"; // has() checks it before it is used
      return detail.has(key) ? detail(key) : null;
    },
    money: (cents: number | null, currency: string | null) => (cents === null || !currency ? "" : format.money(cents, currency)),
  };
}

/** Each step of a journey as a picture and a sentence. */
export function useJourneyStep(): (step: JourneyStep) => StepLook {
  const t = useTranslations("desk.journey");
  const word = useTranslations();
  const { spent, away, device, money } = useStepParts();
  return (step) => {
    switch (step.kind) {
      case "click": {
        const { keyword, campaign, isReturn } = step;
        const text = keyword ? t.rich(isReturn ? "backAd" : "clickAd", { keyword, b: bold }) : t(isReturn ? "backAdPlain" : "clickAdPlain");
        const note = [campaign && t("campaign", { campaign }), isReturn && !campaign ? t("sameVisitor") : device(step.device)];
        return { icon: MousePointerClick, tone: "act", text, note: note.filter(Boolean).join(" · ") };
      }
      case "visit":
        return { icon: Eye, text: t(step.isReturn ? "visitAgain" : "visit"), note: device(step.device) };
      case "page": {
        const read = step.depth >= 90 ? "readAll" : step.depth >= 50 ? "readHalf" : "read";
        return {
          icon: step.depth >= 90 ? ScrollText : FileText,
          text: t.rich(read, { path: step.path, p: path }),
          note: spent(step.seconds),
        };
      }
      case "cleared":
        return { icon: Eraser, text: t("cleared") };
      case "hover":
        return { icon: Pointer, text: t("hover") };
      case "lead": {
        const text = step.path ? t.rich(step.channel, { path: step.path, p: path }) : word(`desk.reached.${step.channel}`);
        return { icon: channelIcons[step.channel], text, ...(step.isThis ? { tone: "ok" } : { note: t("otherLead") }) };
      }
      case "consent":
        return step.choice === "given"
          ? { icon: ShieldCheck, text: t("consent.given") }
          : { icon: ShieldOff, tone: "bad", text: t(`consent.${step.choice}`), note: t("consent.kept") };
      case "gap":
        return { text: t("away", { time: away(step.seconds) }) };
      case "move": {
        const by = step.byYou ? t("byYou") : step.by ? t("by", { name: step.by }) : t("bySystem");
        const note = [by, step.note].filter(Boolean).join(" · ");
        if (step.isUndo) {
          const text = t.rich(`undone.${step.to}`, { amount: money(step.amountCents, step.currency), b: bold });
          return { icon: Undo2, text, note };
        }
        const text = t.rich(step.to, { amount: money(step.amountCents, step.currency), b: bold });
        return { icon: moveIcons[step.to], tone: step.to === "sealed" ? "ok" : "plain", text, note };
      }
      case "described": {
        const by = step.byYou ? t("byYou") : step.by ? t("by", { name: step.by }) : t("bySystem");
        return step.what === "noted"
          ? { icon: StickyNote, text: step.note ?? t("noted"), note: by }
          : { icon: UserPen, text: word("kinds.contact"), note: by };
      }
      case "sent": {
        const words = step.delivery === "CONVERSION" ? "sent" : (`sent${step.delivery}` as const);
        return { icon: Send, tone: "ok", text: t.rich(words, { amount: money(step.amountCents, step.currency), b: bold }) };
      }
      case "verdict": {
        const isBad = step.verdict === "REJECTED" || step.verdict === "UNKNOWN";
        return { icon: isBad ? CircleX : CheckCheck, tone: isBad ? "bad" : "ok", text: t(step.verdict) };
      }
      case "todo":
        return { tone: "todo", text: path(t(({ seal: "yourSeal", send: "toSend", confirm: "toConfirm" } as const)[step.what])) };
    }
  };
}
