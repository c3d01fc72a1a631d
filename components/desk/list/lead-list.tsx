"use client";

import { ArrowUp, Bell } from "lucide-react";
import Link from "next/link";
import { useTranslations } from "next-intl";
import { Fragment, type ReactNode, type RefObject } from "react";
import { Button } from "#components/ui/button.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { useNow } from "../desk-clock.tsx";
import { useDesk } from "../desk-context.tsx";
import type { DeskState } from "../desk-state.ts";
import { LeadRow } from "./lead-row.tsx";
import { leadSections } from "./lead-sections.ts";

interface LeadListProps {
  state: DeskState;
  currentId: string | null;
  listRef: RefObject<HTMLDivElement | null>;
  needsYouHref: string;
  leadHref: (id: string) => string;
  onChoose: (id: string) => void;
  onShowArrived: () => void;
  onMore: () => void;
  isLoadingMore: boolean;
  empty: ReactNode;
}

/** The leads: what needs somebody, today, the days before. New ones wait above while somebody touches the list. */
export function LeadList({ state, currentId, listRef, needsYouHref, leadHref, onChoose, empty, ...list }: LeadListProps) {
  const t = useTranslations("desk.list");
  const { format } = useDesk();
  const today = format.day(useNow(60_000));
  const { leads, needsYou, arrived, freshIds } = state;
  const sections = leadSections(leads, needsYou, format.day);
  const yesterday = format.day(new Date(Date.parse(`${today}T12:00:00Z`) - 86_400_000));
  const title = (key: string) => {
    if (key === today) return t("today");
    return key === yesterday ? t("yesterday") : format.plainDay(key, { weekday: "long", day: "numeric", month: "long" });
  };
  const counts: Record<string, number> = { needsYou: state.source.needsYouCount, [today]: state.todayCount };
  return (
    <div ref={listRef} className="lead-list">
      <output className="sr">{arrived.length > 0 && t("arrived", { count: arrived.length })}</output>
      {arrived.length > 0 && (
        <div className="new-pill">
          <Button tone="primary" size="sm" onClick={list.onShowArrived}>
            <ArrowUp className="i i-14" />
            {t("newPill", { count: arrived.length })}
          </Button>
        </div>
      )}
      {sections.length === 0 && empty}
      {sections.map(({ key, leads: rows }) => (
        <Fragment key={key}>
          <h3 className="sec">
            {key === "needsYou" && <Bell className="i i-14" />}
            {key === "needsYou" ? t("needsYou") : title(key)}
            {counts[key] !== undefined && <span className="count">{format.number(Math.max(counts[key], rows.length))}</span>}
            {key === "needsYou" && state.source.needsYouCount > rows.length && (
              <Link className="link end" href={needsYouHref} scroll={false}>
                {t("seeAll", { count: state.source.needsYouCount })}
              </Link>
            )}
          </h3>
          <ul>
            {rows.map((lead) => (
              <LeadRow
                key={lead.id}
                lead={lead}
                isCurrent={lead.id === currentId}
                isFresh={freshIds.has(lead.id)}
                href={leadHref(lead.id)}
                onChoose={onChoose}
              />
            ))}
          </ul>
        </Fragment>
      ))}
      {state.next && (
        <div className="more">
          <SubmitButton type="button" size="sm" pending={list.isLoadingMore} onClick={list.onMore}>
            {t("more")}
          </SubmitButton>
        </div>
      )}
    </div>
  );
}
