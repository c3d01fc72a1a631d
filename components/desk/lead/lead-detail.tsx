"use client";

import { ChevronDown, ChevronUp, MousePointerClick } from "lucide-react";
import { useTranslations } from "next-intl";
import type { RefObject } from "react";
import { Button } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { useNow } from "#components/workbench/live/clock.tsx";
import type { DeskLead, LeadDetail as Detail } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { detailLook } from "../desk-look.ts";
import { useLeadWords } from "../list/use-lead-words.ts";
import { LeadPanel } from "../seal/lead-panel.tsx";
import { Journey } from "./journey.tsx";
import { LeadContact } from "./lead-contact.tsx";
import { LeadFacts, ScoreReasons } from "./lead-facts.tsx";
import { Ledger } from "./ledger.tsx";

interface LeadDetailProps {
  lead: DeskLead | null;
  detail: Detail | null;
  panelRef: RefObject<HTMLElement | null>;
  onStep: (step: 1 | -1) => void;
  onChoose: (id: string) => void;
}

/** A lead beside the list: its facts, why it scores, its journey, and what can be done. */
export function LeadDetail({ lead, detail, panelRef, onStep, onChoose }: LeadDetailProps) {
  const t = useTranslations("desk");
  const words = useLeadWords();
  if (!lead) {
    return (
      <Card className={detailLook} aria-label={t("detail.none")}>
        <EmptyState icon={MousePointerClick} title={t("detail.none")}>
          {t("detail.noneNext")}
        </EmptyState>
      </Card>
    );
  }
  return (
    <Card
      ref={panelRef}
      className={`${detailLook} focus-visible:rounded-lg`}
      tabIndex={-1}
      aria-label={t("detail.label", { who: words.who(lead) })}
    >
      <header className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 border-line-1 border-b px-5 py-4">
        <h2 className="min-w-0 flex-1 text-xl tracking-[-0.015em] wrap-anywhere">{words.who(lead)}</h2>
        <span className="flex min-w-0 items-center gap-2">
          <Button tone="ghost" icon size="sm" aria-label={t("detail.previous")} aria-keyshortcuts="k" onClick={() => onStep(-1)}>
            <ChevronUp />
          </Button>
          <Button tone="ghost" icon size="sm" aria-label={t("detail.next")} aria-keyshortcuts="j" onClick={() => onStep(1)}>
            <ChevronDown />
          </Button>
        </span>
        <LeadFacts lead={lead} detail={detail} />
        {detail && <LeadContact detail={detail} />}
        {detail && <Siblings detail={detail} onChoose={onChoose} />}
      </header>
      <div className="grid grid-cols-[minmax(0,1fr)_308px] max-[1241px]:grid-cols-[minmax(0,1fr)]">
        <div className="px-5 pt-4 pb-5">
          <ScoreReasons lead={lead} />
          <h3 className="mb-3 text-base font-semibold tracking-[-0.003em]">{t("journey.title")}</h3>
          <Journey lead={lead} detail={detail} />
          {detail && <Ledger detail={detail} />}
        </div>
        <div className="border-line-1 border-l px-5 pt-4 pb-5 max-[1241px]:-order-1 max-[1241px]:border-b max-[1241px]:border-l-0">
          <div className="sticky top-4 max-[1241px]:static">
            <LeadPanel lead={lead} />
          </div>
        </div>
      </div>
    </Card>
  );
}

/** Other leads of the person, who may have called and written, and come back later. */
export function Siblings({ detail: { siblings }, onChoose }: { detail: Detail; onChoose: (id: string) => void }) {
  const t = useTranslations();
  const { format } = useDesk();
  const now = useNow(60_000);
  if (siblings.length === 0) return null;
  return (
    <p className="w-full text-sm text-support">
      {t("desk.detail.siblings")}{" "}
      {siblings.map(({ id, channel, status, calledAt }) => (
        <button key={id} type="button" className="link mr-2" onClick={() => onChoose(id)}>
          {t("desk.detail.sibling", {
            channel: t(`channels.${channel}`),
            time: format.moment(calledAt, now),
            status: t(`states.${status}`),
          })}
        </button>
      ))}
    </p>
  );
}
