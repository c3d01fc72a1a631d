"use client";

import { useTranslations } from "next-intl";
import { useStateWord } from "#components/contracts/use-state-word.ts";
import type { DeskFormat } from "#lib/i18n/desk-format.ts";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const signs = ["returningAdUser", "scroll90", "scroll50", "hoverIntent"] as const;

/** A lead as text: who, why it matters, where it came from. */
export function useLeadWords() {
  const t = useTranslations("desk");
  const word = useTranslations();

  const who = (lead: Pick<DeskLead, "phone" | "channel"> & Partial<Pick<DeskLead, "name">>) =>
    lead.name ?? lead.phone ?? t(`noNumber.${lead.channel}`);

  /** What the visitor did, the strongest signs first; reading to the end includes half. */
  function behaviour({ channel, points, clickBlock }: DeskLead): string {
    const seen = signs.filter((sign) => points[sign] !== undefined && !(sign === "scroll50" && points.scroll90 !== undefined));
    const parts = [t(`reached.${channel}`), ...seen.slice(0, 2).map((sign) => t(`why.${sign}`))];
    return (clickBlock ? [t(`reached.${channel}`), t(`why.${clickBlock}`)] : parts).join(" · ");
  }

  function waiting({ calledAt }: DeskLead, now: Date): string {
    const hours = Math.floor((now.getTime() - Date.parse(calledAt)) / hourMs);
    const time = hours < 72 ? t("why.hours", { count: hours }) : t("why.days", { count: Math.floor(hours / 24) });
    return t("why.waiting", { time });
  }

  function expiry({ clickExpiresAt }: DeskLead, now: Date): string {
    return t("why.expires", { days: Math.max(0, Math.floor((Date.parse(clickExpiresAt ?? "") - now.getTime()) / dayMs)) });
  }

  function decided({ status, changedBy, changedByYou }: DeskLead): string {
    if (status !== "sealed" && status !== "junk" && status !== "cancelled") return "";
    if (changedByYou) return t(`why.${status}ByYou`);
    return changedBy ? t(`why.${status}By`, { name: changedBy }) : word(`kinds.${status}`);
  }

  /** What Google knows of a sealed lead. */
  function delivered({ sale, delivery }: DeskLead): string {
    if (sale?.deliveryBlock) return t(`why.${sale.deliveryBlock}`);
    if (!delivery) return "";
    if (delivery.pendingAdjustment) return t(`why.${delivery.pendingAdjustment}`);
    return t(`why.${delivery.isNotSent ? "NOT_SENT" : (delivery.verdict ?? delivery.status)}`);
  }

  function source({ keyword, campaign, clickBlock, points }: DeskLead): { main: string; campaign: string | null } {
    if (keyword || campaign) return { main: keyword ?? campaign ?? "", campaign: keyword ? campaign : null };
    if (clickBlock === "NO_CONSENT") return { main: word("blocks.NO_CONSENT"), campaign: null };
    if (!clickBlock) return { main: word("labels.adClick"), campaign: null };
    return { main: points.google === undefined ? t("why.direct") : t("why.fromGoogle"), campaign: null };
  }

  return { who, behaviour, waiting, expiry, decided, delivered, source };
}

/** Who was faster, and what they did: "murat@example.com sealed this lead 20 seconds ago for ₺2,400." */
export function useStaleWords(format: DeskFormat): (facts: Record<string, unknown>, now: Date) => string {
  const t = useTranslations("desk");
  const stateOf = useStateWord();
  return ({ status, changedBy, changedAt, amountCents, currency }, now) => {
    const name = typeof changedBy === "string" ? changedBy : t("seal.somebody");
    const ago = typeof changedAt === "string" ? format.since(changedAt, now) : "";
    const amount = typeof amountCents === "number" && typeof currency === "string" ? format.money(amountCents, currency) : "";
    if (status === "sealed") return t("seal.stale", { name, ago, amount });
    if (status === "CONFIRMED" || status === "CANCELED") return t("seal.staleSale", { amount });
    return t("seal.staleOther", { name, ago, status: typeof status === "string" ? stateOf(status) : "" });
  };
}
