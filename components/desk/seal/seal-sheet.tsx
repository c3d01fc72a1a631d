"use client";

import { useTranslations } from "next-intl";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { latePart } from "#components/ui/late-part.tsx";
import { Sheet } from "#components/ui/sheet.tsx";
import type { DeskLead, LeadDetail } from "#lib/leads/desk-shapes.ts";
import { ChannelMark } from "../list/lead-row.tsx";
import { useLeadWords } from "../list/use-lead-words.ts";

const Levels = latePart(() => import("./sheet-levels.tsx").then(({ SheetLevels }) => SheetLevels));

interface SealSheetProps {
  lead: DeskLead | null;
  detail: LeadDetail | null;
  onClose: () => void;
  onChoose: (id: string) => void;
}

/** A lead on a phone: the seal within reach of the thumb, the journey one level below. */
export function SealSheet({ lead, detail, onClose, onChoose }: SealSheetProps) {
  const t = useTranslations("desk.score");
  const words = useLeadWords();
  useBackCloses(lead !== null, onClose);
  return (
    <Sheet
      open={lead !== null}
      onOpenChange={(open) => !open && onClose()}
      title={lead && words.who(lead)}
      note={lead && `${t("title", { score: lead.score })} · ${words.source(lead).main}`}
      lead={lead && <ChannelMark lead={lead} className="bg-surface-3" />}
    >
      {lead && <Levels.Part isWanted key={lead.id} lead={lead} detail={detail} onClose={onClose} onChoose={onChoose} />}
    </Sheet>
  );
}
