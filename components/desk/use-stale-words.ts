"use client";

import { useTranslations } from "next-intl";
import type { DeskFormat } from "#lib/i18n/desk-format.ts";

/** Who was faster, and what they did: "Murat sealed this lead 20 seconds ago for ₺2,400." */
export function useStaleWords(format: DeskFormat): (facts: Record<string, unknown>, now: Date) => string {
  const t = useTranslations("desk");
  return ({ status, changedBy, changedAt, amountCents, currency }, now) => {
    const name = typeof changedBy === "string" ? changedBy : t("seal.somebody");
    const ago = typeof changedAt === "string" ? format.since(changedAt, now) : "";
    const amount = typeof amountCents === "number" && typeof currency === "string" ? format.money(amountCents, currency) : "";
    if (status === "sealed") return t("seal.stale", { name, ago, amount });
    if (status === "CONFIRMED" || status === "CANCELED") return t("seal.staleSale", { amount });
    const known = status as Parameters<typeof t>[0] extends `status.${infer Name}` ? Name : "intent"; // has() checks it before it is used
    return t("seal.staleOther", { name, ago, status: t.has(`status.${known}`) ? t(`status.${known}`) : "" });
  };
}
