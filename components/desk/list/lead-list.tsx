"use client";

import { ArrowUp, Bell } from "lucide-react";
import Link from "next/link";
import { useTranslations } from "next-intl";
import { Fragment, type ReactNode, type RefObject } from "react";
import { Button } from "#components/ui/button.tsx";
import { Count } from "#components/ui/count.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { useNow } from "#components/workbench/live/clock.tsx";
import type { DeskLead, DeskPage } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { LeadRow } from "./lead-row.tsx";
import type { Leads } from "./use-leads.ts";

interface LeadListProps {
  leads: Leads;
  page: DeskPage;
  currentId: string | null;
  listRef: RefObject<HTMLDivElement | null>;
  needsYouHref: string;
  leadHref: (id: string) => string;
  onChoose: (id: string) => void;
  empty: ReactNode;
}

/** What needs somebody first, then day by day. A lead stands in one place only. */
function sectionsOf({ rows, needsYou }: Leads, dayOf: (at: string) => string): { key: string; leads: DeskLead[] }[] {
  const onTop = new Set(needsYou.map(({ id }) => id));
  const sections = needsYou.length > 0 ? [{ key: "needsYou", leads: needsYou }] : [];
  for (const lead of rows) {
    if (onTop.has(lead.id)) continue;
    const day = dayOf(lead.calledAt);
    const last = sections.at(-1);
    if (last?.key === day) last.leads.push(lead);
    else sections.push({ key: day, leads: [lead] });
  }
  return sections;
}

/** The leads: what needs somebody, today, the days before. New ones wait above while somebody touches the list. */
export function LeadList({ leads, page, currentId, listRef, needsYouHref, leadHref, onChoose, empty }: LeadListProps) {
  const t = useTranslations("desk.list");
  const word = useTranslations();
  const { format } = useDesk();
  const today = format.day(useNow(60_000));
  const sections = sectionsOf(leads, format.day);
  const yesterday = format.day(new Date(Date.parse(`${today}T12:00:00Z`) - 86_400_000));
  const title = (key: string) => {
    if (key === "needsYou") return t("needsYou");
    if (key === today) return word("nav.today");
    return key === yesterday ? t("yesterday") : format.plainDay(key, { weekday: "long", day: "numeric", month: "long" });
  };
  const counts: Record<string, number> = { needsYou: page.needsYouCount, [today]: page.todayCount };
  return (
    <div ref={listRef} className="group-aria-busy:opacity-55">
      <output className="sr-only">{leads.waiting > 0 && t("arrived", { count: leads.waiting })}</output>
      {leads.waiting > 0 && (
        <div className="sticky top-2 z-3 grid h-0 justify-items-center max-desk:top-17">
          <Button tone="primary" size="sm" className="mt-1.5 rounded-full shadow-md" onClick={leads.showNewest}>
            <ArrowUp className="size-3.5" />
            {t("newPill", { count: leads.waiting })}
          </Button>
        </div>
      )}
      {sections.length === 0 && empty}
      {sections.map(({ key, leads: rows }) => (
        <Fragment key={key}>
          <h3 className="flex items-center gap-2 border-line-1 border-b bg-surface-2 px-4 pt-2.25 pb-1.75 text-xs font-semibold text-support">
            {key === "needsYou" && <Bell className="size-3.5" />}
            {title(key)}
            {counts[key] !== undefined && <Count>{format.number(Math.max(counts[key], rows.length))}</Count>}
            {key === "needsYou" && page.needsYouCount > rows.length && (
              <Link className="link ml-auto" href={needsYouHref} scroll={false}>
                {t("seeAll", { count: page.needsYouCount })}
              </Link>
            )}
          </h3>
          <ul>
            {rows.map((lead) => (
              <LeadRow
                key={lead.id}
                lead={lead}
                isCurrent={lead.id === currentId}
                isFresh={leads.freshIds.has(lead.id)}
                href={leadHref(lead.id)}
                onChoose={onChoose}
              />
            ))}
          </ul>
        </Fragment>
      ))}
      {leads.hasMore && (
        <div className="grid px-4 py-3">
          <SubmitButton type="button" size="sm" pending={leads.isLoading} onClick={leads.loadMore}>
            {t("more")}
          </SubmitButton>
        </div>
      )}
    </div>
  );
}
