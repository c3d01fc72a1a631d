"use client";

import { ChevronDown, ChevronUp, MousePointerClick } from "lucide-react";
import { useTranslations } from "next-intl";
import type { RefObject } from "react";
import { Button } from "#components/ui/button.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import type { DeskLead, LeadDetail as Detail } from "#lib/leads/desk-shapes.ts";
import { useLeadWords } from "../list/use-lead-words.ts";
import { LeadPanel } from "../seal/lead-panel.tsx";
import { CallBack } from "./call-back.tsx";
import { Journey } from "./journey.tsx";
import { LeadFacts } from "./lead-facts.tsx";
import { Ledger } from "./ledger.tsx";
import { ScoreReasons } from "./score-reasons.tsx";
import { Siblings } from "./siblings.tsx";

interface LeadDetailProps {
  lead: DeskLead | undefined;
  detail: Detail | undefined;
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
      <section className="card detail" aria-label={t("detail.none")}>
        <EmptyState icon={MousePointerClick} title={t("detail.none")}>
          {t("detail.noneNext")}
        </EmptyState>
      </section>
    );
  }
  return (
    <section ref={panelRef} className="card detail" tabIndex={-1} aria-label={t("detail.label", { who: words.who(lead) })}>
      <header className="detail-h">
        <h2>{words.who(lead)}</h2>
        <span className="row">
          {detail?.fullPhone && <CallBack phone={detail.fullPhone} />}
          <Button tone="ghost" icon size="sm" aria-label={t("detail.previous")} aria-keyshortcuts="k" onClick={() => onStep(-1)}>
            <ChevronUp className="i" />
          </Button>
          <Button tone="ghost" icon size="sm" aria-label={t("detail.next")} aria-keyshortcuts="j" onClick={() => onStep(1)}>
            <ChevronDown className="i" />
          </Button>
        </span>
        <LeadFacts lead={lead} detail={detail} />
        {detail && <Siblings detail={detail} onChoose={onChoose} />}
      </header>
      <div className="split">
        <div className="pane">
          <ScoreReasons lead={lead} />
          <h3 className="h2 mb-3">{t("journey.title")}</h3>
          <Journey lead={lead} detail={detail} />
          {detail && <Ledger detail={detail} />}
        </div>
        <div className="pane">
          <div className="sticks">
            <LeadPanel lead={lead} />
          </div>
        </div>
      </div>
    </section>
  );
}
