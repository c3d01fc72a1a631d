"use client";

import { Inbox, ListFilter, type LucideIcon, Radio } from "lucide-react";
import { useTranslations } from "next-intl";
import { ButtonLink } from "#components/ui/button.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import type { DeskFilter } from "#lib/leads/desk-filter.ts";
import { conditionCount } from "#lib/leads/desk-query.ts";
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
  const word = useTranslations();
  const isUnfiltered = conditionCount(filter) === 0 && (filter.view === "open" || filter.view === "needs_you");
  const why = !figures.hasVisits ? "noVisit" : !figures.hasLeads ? "noLead" : isUnfiltered ? "noOpen" : "noMatch";
  const icons: Record<typeof why, LucideIcon> = { noVisit: Radio, noLead: Inbox, noOpen: Inbox, noMatch: ListFilter };
  const action =
    why === "noMatch" ? (
      <ButtonLink href={base} scroll={false}>
        {t("clear")}
      </ButtonLink>
    ) : (
      why === "noVisit" && installHref && <ButtonLink href={installHref}>{word("actions.snippet")}</ButtonLink>
    );
  return (
    <EmptyState icon={icons[why]} title={t(why)} action={action}>
      {why === "noVisit" && !installHref ? t("askOwner") : t(`${why}Next`)}
    </EmptyState>
  );
}
