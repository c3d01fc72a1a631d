"use client";

import { CalendarCheck, MousePointerClick, Unlink, UserCheck } from "lucide-react";
import { useTranslations } from "next-intl";
import { type MouseEvent, memo } from "react";
import { Tag } from "#components/ui/badge.tsx";
import { cn } from "#components/ui/cn.ts";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useNow } from "../desk-clock.tsx";
import { useDesk } from "../desk-context.tsx";
import { UndoButton } from "../seal/undo-button.tsx";
import { channelIcons, deliveryLook, isOpen } from "./lead-state.ts";
import { useLeadWords } from "./use-lead-words.ts";

/** So long a lead that nobody has touched counts as new. */
const newMs = 15 * 60_000;

interface LeadRowProps {
  lead: DeskLead;
  isCurrent: boolean;
  isFresh: boolean;
  href: string;
  onChoose: (id: string) => void;
}

/** One lead of the list. The whole row is its link; what else can be pressed lies above it. */
export const LeadRow = memo(function LeadRow({ lead, isCurrent, isFresh, href, onChoose }: LeadRowProps) {
  const t = useTranslations("desk");
  const { format } = useDesk();
  const words = useLeadWords();
  const now = useNow(30_000);
  const Channel = channelIcons[lead.channel];
  const { main, campaign } = words.source(lead);
  const isNew = isFresh || (lead.status === "intent" && now.getTime() - Date.parse(lead.calledAt) < newMs);
  const choose = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    onChoose(lead.id);
  };
  return (
    <li className={cn("lead", isCurrent && "on", isFresh && "arrives")} data-lead={lead.id}>
      <span className="chan">
        <Channel className="i i-18" />
      </span>
      <div className="lb">
        <div className="row gap-[7px]">
          {isNew && <span className="new" title={t("list.new")} />}
          <a className="who grow row-link" href={href} aria-current={isCurrent || undefined} onClick={choose}>
            {words.who(lead)}
          </a>
          <time className="when" dateTime={lead.calledAt} title={format.dateTime(lead.calledAt)}>
            {format.when(lead.calledAt, now)}
          </time>
        </div>
        <Why lead={lead} now={now} />
        <div className="src">
          {lead.clickBlock ? <Unlink className="i" /> : <MousePointerClick className="i" />}
          <span className="clip grow">
            {main}
            {campaign && <span className="desk-only">{` · ${campaign}`}</span>}
          </span>
          <RowEnd lead={lead} />
        </div>
      </div>
    </li>
  );
});

function Why({ lead, now }: { lead: DeskLead; now: Date }) {
  const words = useLeadWords();
  if (!isOpen(lead)) {
    const delivered = lead.status === "sealed" ? words.delivered(lead) : "";
    return (
      <div className="why">
        {[words.decided(lead), delivered].filter(Boolean).join(" · ")}
        <UndoButton lead={lead} />
      </div>
    );
  }
  if (lead.needsYou === "CLICK_EXPIRES") return <div className="why fg-retry med">{words.expiry(lead, now)}</div>;
  return <div className="why">{lead.needsYou === "WAITING" ? words.waiting(lead, now) : words.behaviour(lead)}</div>;
}

/** At the end of the row stands what matters next: the amount, the stage, or how promising it is. */
function RowEnd({ lead }: { lead: DeskLead }) {
  const t = useTranslations("desk");
  const { format } = useDesk();
  if (lead.status === "sealed" && lead.sale) {
    const look = deliveryLook(lead);
    return (
      <span className="score">
        {look && <look.icon className={`i i-14 ${look.className}`} />}
        {format.money(lead.sale.amountCents, lead.sale.currency)}
      </span>
    );
  }
  if (lead.status === "qualified") return <Tag icon={UserCheck}>{t("why.qualified")}</Tag>;
  if (lead.status === "meeting") return <Tag icon={CalendarCheck}>{t("why.meeting")}</Tag>;
  if (!isOpen(lead)) return <Tag>{t(`status.${lead.status}`)}</Tag>;
  return (
    <span className="score" title={t("score.of", { score: lead.score })}>
      <i style={{ "--v": `${lead.score}%` } as React.CSSProperties} />
      {lead.score}
    </span>
  );
}
