"use client";

import { Send } from "lucide-react";
import { useTranslations } from "next-intl";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useNow } from "../desk-clock.tsx";
import { useDesk } from "../desk-context.tsx";
import type { SealDraft } from "../use-lead-actions.tsx";
import { sendTime } from "./send-time.ts";

const undoMs = 10 * 60_000;

/** The consequence below the button: what Google is told, from when, and until when it can be undone. */
export function Told({ lead, draft }: { lead: DeskLead; draft: SealDraft }) {
  const t = useTranslations("desk.seal");
  const { rules, format } = useDesk();
  const now = useNow(30_000);
  const { at, isForClick } = sendTime(lead, rules, now);
  return (
    <p className="told">
      <Send className="i" />
      <span>
        {lead.clickBlock
          ? t(`notTold.${lead.clickBlock}`)
          : t.rich("told", {
              amount: format.money(draft.shownCents, draft.currency),
              day: format.day(at) === format.day(now) ? "today" : "other",
              time: format.moment(at, now),
              reason: isForClick ? "click" : "other",
              hours: rules.clickMinAgeHours,
              b: (words) => <b className="med">{words}</b>,
            })}{" "}
        {t("undoUntil", { time: format.time(new Date(now.getTime() + undoMs)) })}
      </span>
    </p>
  );
}
