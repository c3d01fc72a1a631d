"use client";

import { ArrowLeft, ChevronRight, Route } from "lucide-react";
import { useTranslations } from "next-intl";
import { useState } from "react";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Button } from "#components/ui/button.tsx";
import { Sheet } from "#components/ui/sheet.tsx";
import type { DeskLead, LeadDetail } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { Journey } from "../lead/journey.tsx";
import { LeadFacts } from "../lead/lead-facts.tsx";
import { Ledger } from "../lead/ledger.tsx";
import { ScoreReasons } from "../lead/score-reasons.tsx";
import { channelIcons, isOpen } from "../list/lead-state.ts";
import { useLeadWords } from "../list/use-lead-words.ts";
import { LeadPanel } from "./lead-panel.tsx";
import { PhoneSeal } from "./phone-seal.tsx";

interface SealSheetProps {
  lead: DeskLead | undefined;
  detail: LeadDetail | undefined;
  onClose: () => void;
}

/** A lead on a phone: the seal within reach of the thumb, the journey one level below. */
export function SealSheet({ lead, detail, onClose }: SealSheetProps) {
  const t = useTranslations("desk");
  const { canAct } = useDesk();
  const words = useLeadWords();
  const [level, setLevel] = useState<"seal" | "journey">("seal");
  const close = () => {
    setLevel("seal");
    onClose();
  };
  useBackCloses(lead !== undefined, close);
  useBackCloses(lead !== undefined && level === "journey", () => setLevel("seal"));
  const Channel = lead ? channelIcons[lead.channel] : Route;
  return (
    <Sheet
      open={lead !== undefined}
      onOpenChange={(open) => !open && close()}
      title={lead && words.who(lead)}
      note={lead && `${t("score.title", { score: lead.score })} · ${words.source(lead).main}`}
      lead={
        <span className="chan">
          <Channel className="i i-18" />
        </span>
      }
    >
      {lead && level === "journey" && (
        <>
          <Button tone="ghost" size="sm" className="justify-self-start -ml-3" onClick={() => setLevel("seal")}>
            <ArrowLeft className="i" />
            {t("journey.back")}
          </Button>
          <LeadFacts lead={lead} detail={detail} />
          <div>
            <ScoreReasons lead={lead} />
            <Journey lead={lead} detail={detail} />
            {detail && <Ledger detail={detail} />}
          </div>
        </>
      )}
      {lead && level === "seal" && (
        <>
          <button type="button" className="row sheet-link" onClick={() => setLevel("journey")}>
            <Route className="i t3" />
            <span className="grow">
              {t("journey.summary", {
                visits: lead.visitsBefore + 1,
                returned: lead.points.returningAdUser === undefined ? "no" : "yes",
              })}
            </span>
            <span className="link">{t("journey.link")}</span>
            <ChevronRight className="i i-14 t3" />
          </button>
          {isOpen(lead) && canAct ? (
            <PhoneSeal key={lead.id} lead={lead} fullPhone={detail?.fullPhone ?? null} onDone={close} />
          ) : (
            <LeadPanel lead={lead} />
          )}
        </>
      )}
    </Sheet>
  );
}
