"use client";

import { Inbox, ListFilter, Radio } from "lucide-react";
import { useTranslations } from "next-intl";
import { ButtonLink } from "#components/ui/button.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { conditionCount, type DeskFilter, filterQuery } from "#lib/leads/desk-filter.ts";
import type { DeskFigures } from "#lib/leads/desk-shapes.ts";

interface EmptyListProps {
  filter: DeskFilter;
  base: string;
  figures: DeskFigures;
  /** Where owners find the line for their website; the others cannot open that page. */
  installHref: string | null;
}

/** Why the list is empty, and what to do about it. */
export function EmptyList({ filter, base, figures, installHref }: EmptyListProps) {
  const t = useTranslations("desk.empty");
  const clear = useTranslations("desk.list");
  if (!figures.hasVisits) {
    return (
      <EmptyState icon={Radio} title={t("noVisit")} action={installHref && <ButtonLink href={installHref}>{t("showLine")}</ButtonLink>}>
        {installHref ? t("noVisitNext") : t("askOwner")}
      </EmptyState>
    );
  }
  if (!figures.hasLeads) {
    return (
      <EmptyState icon={Inbox} title={t("noLead")}>
        {t("noLeadNext")}
      </EmptyState>
    );
  }
  if (conditionCount(filter) === 0 && (filter.view === "open" || filter.view === "needs_you")) {
    return (
      <EmptyState icon={Inbox} title={t("noOpen")}>
        {t("noOpenNext")}
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon={ListFilter}
      title={t("noMatch")}
      action={
        <ButtonLink href={base + filterQuery({})} scroll={false}>
          {clear("clear")}
        </ButtonLink>
      }
    >
      {t("noMatchNext")}
    </EmptyState>
  );
}
