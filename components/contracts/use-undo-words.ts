"use client";

import { useTranslations } from "next-intl";
import type { UndoStep } from "#lib/contracts/undo-step.ts";

/** Where an undo leads, by the state that it answers: a lead's or a sale's. */
const states = {
  intent: "intent",
  qualified: "qualified",
  meeting: "meeting",
  sealed: "sealed",
  junk: "junk",
  cancelled: "cancelled",
  CONFIRMED: "sealed",
  DRAFT: "draft",
  CANCELED: "unsealed",
} as const;
const isState = (to: unknown): to is keyof typeof states => typeof to === "string" && to in states;

/** What an undo of a lead or a sale takes back, and afterwards what holds again. */
export function useUndoWords(money: (cents: number, currency: string) => string) {
  const t = useTranslations("workbench.undo");
  const amountOf = (cents: number | null, { currency }: UndoStep) => (cents === null || !currency ? "" : money(cents, currency));
  return {
    offer: (step: UndoStep) => t(`offer.${step.kind}`, { amount: amountOf(step.amountCents, step) }),
    /** `answer` is what the undo answered: a move says where it led. */
    done(step: UndoStep, answer: Record<string, unknown>) {
      if (step.kind === "correct") return t("done.correct", { amount: amountOf(step.beforeCents, step) });
      return t(`done.${isState(answer.to) ? states[answer.to] : "intent"}`);
    },
  };
}
