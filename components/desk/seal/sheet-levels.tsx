"use client";

import { ArrowLeft, ChevronRight, Route } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Button } from "#components/ui/button.tsx";
import type { DeskLead, LeadDetail } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { Journey } from "../lead/journey.tsx";
import { LeadContact } from "../lead/lead-contact.tsx";
import { Siblings } from "../lead/lead-detail.tsx";
import { LeadFacts, ScoreReasons } from "../lead/lead-facts.tsx";
import { Ledger } from "../lead/ledger.tsx";
import { isOpen } from "../list/lead-state.ts";
import { LeadPanel } from "./lead-panel.tsx";
import { PhoneSeal } from "./phone-seal.tsx";

interface SheetLevelsProps {
  lead: DeskLead;
  detail: LeadDetail | null;
  onClose: () => void;
  onChoose: (id: string) => void;
}

/** What is in the sheet: the seal, and the journey one level below. */
export function SheetLevels({ lead, detail, onClose, onChoose }: SheetLevelsProps) {
  const t = useTranslations("desk.journey");
  const { canAct } = useDesk();
  const [isJourney, setJourney] = useState(false);
  useBackCloses(isJourney, () => setJourney(false));
  if (isJourney)
    return (
      <>
        <Button tone="ghost" size="sm" className="-ml-3 justify-self-start" onClick={() => setJourney(false)}>
          <ArrowLeft />
          {t("back")}
        </Button>
        <LeadFacts lead={lead} detail={detail} />
        <div>
          <ScoreReasons lead={lead} />
          <Journey lead={lead} detail={detail} />
          {detail && <Ledger detail={detail} />}
        </div>
      </>
    );
  const summary = { visits: lead.visitsBefore + 1, returned: lead.points.returningAdUser === undefined ? "no" : "yes" };
  return (
    <>
      <button
        type="button"
        className="-my-1.5 flex min-h-11 w-full items-center gap-2 border-line-1 border-y px-0.5 text-sm text-support"
        onClick={() => setJourney(true)}
      >
        <Route className="text-meta" />
        <span className="min-w-0 flex-1">{t("summary", summary)}</span>
        <span className="link">{t("title")}</span>
        <ChevronRight className="size-3.5 text-meta" />
      </button>
      {detail && (
        <>
          <LeadContact detail={detail} />
          <Siblings detail={detail} onChoose={onChoose} />
        </>
      )}
      {isOpen(lead) && canAct ? <PhoneSeal lead={lead} onDone={onClose} /> : <LeadPanel lead={lead} />}
    </>
  );
}
