"use client";

import { CalendarCheck, MousePointerClick, Unlink, UserCheck } from "lucide-react";
import { useTranslations } from "next-intl";
import { memo } from "react";
import { Tag } from "#components/ui/badge.tsx";
import { cn } from "#components/ui/cn.ts";
import { useNow } from "#components/workbench/live/clock.tsx";
import { RowLink } from "#components/workbench/row-link.tsx";
import type { DeskLead } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { UndoButton } from "../seal/undo-button.tsx";
import { channelIcons, deliveryLook, isOpen } from "./lead-state.ts";
import { useLeadWords } from "./use-lead-words.ts";

/** So long a lead that nobody has touched counts as new. */
const newMs = 15 * 60_000;

const rowLook =
  "group/lead relative grid grid-cols-[32px_minmax(0,1fr)] gap-x-3 border-line-1 border-b px-4 py-2.5 in-[ul:last-child]:last:border-b-0 hover:bg-surface-2 max-desk:grid-cols-[36px_minmax(0,1fr)] max-desk:py-3 has-[[data-row-link]:focus-visible]:outline-2 has-[[data-row-link]:focus-visible]:outline-focus has-[[data-row-link]:focus-visible]:-outline-offset-2 desk:data-on:bg-accent-soft desk:data-on:before:absolute desk:data-on:before:-inset-y-px desk:data-on:before:-left-px desk:data-on:before:w-0.75 desk:data-on:before:bg-accent";
const endLook = "ml-2 inline-flex flex-none items-center gap-1.75 text-sm leading-4 font-semibold text-content";

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
  const { main, campaign } = words.source(lead);
  const isNew = isFresh || (lead.status === "intent" && now.getTime() - Date.parse(lead.calledAt) < newMs);
  const ClickIcon = lead.clickBlock ? Unlink : MousePointerClick;
  return (
    <li
      className={cn(rowLook, isFresh && "transition-[opacity,translate] starting:-translate-y-2 starting:opacity-0")}
      data-row={lead.id}
      data-on={isCurrent || undefined}
    >
      <ChannelMark lead={lead} />
      <div className="grid min-w-0 gap-px">
        <div className="flex min-w-0 items-center gap-1.75">
          {isNew && <span className="size-1.75 flex-none rounded-full bg-accent-mark" title={t("list.new")} />}
          {/* Tall enough for a finger even where Undo lies close below. */}
          <RowLink
            className="-mt-1.75 min-w-0 flex-1 pt-1.75 font-semibold tracking-[-0.003em] outline-none after:absolute after:inset-0"
            data-row-link
            href={href}
            aria-current={isCurrent || undefined}
            onOpen={() => onChoose(lead.id)}
          >
            {words.who(lead)}
          </RowLink>
          <time className="text-xs whitespace-nowrap text-meta" dateTime={lead.calledAt} title={format.dateTime(lead.calledAt)}>
            {format.when(lead.calledAt, now)}
          </time>
        </div>
        <Why lead={lead} now={now} />
        <div className="flex min-h-5 min-w-0 items-center gap-1.25 text-xs text-meta">
          <ClickIcon className="size-3.25" />
          <span className="min-w-0 flex-1 truncate">
            {main}
            {campaign && <span className="max-desk:hidden">{` · ${campaign}`}</span>}
          </span>
          <RowEnd lead={lead} />
        </div>
      </div>
    </li>
  );
});

export function ChannelMark({ lead, className }: { lead: DeskLead; className?: string }) {
  const Icon = channelIcons[lead.channel];
  return (
    <span
      className={cn(
        "grid size-8 flex-none place-items-center rounded-[8px] bg-surface-2 text-support group-hover/lead:bg-surface-3 max-desk:size-9 desk:group-data-on/lead:bg-surface-1 desk:group-data-on/lead:text-accent-text",
        className,
      )}
    >
      <Icon className="size-4.5" />
    </span>
  );
}

function Why({ lead, now }: { lead: DeskLead; now: Date }) {
  const words = useLeadWords();
  const look = "text-sm text-pretty wrap-anywhere text-support";
  if (!isOpen(lead)) {
    const delivered = lead.status === "sealed" ? words.delivered(lead) : "";
    return (
      <div className={look}>
        {[words.decided(lead), delivered].filter(Boolean).join(" · ")}{" "}
        <UndoButton lead={lead} className="link relative -my-1 -ml-1 min-h-6 p-1 max-desk:-my-2.75 max-desk:min-h-10" />
      </div>
    );
  }
  if (lead.needsYou === "CLICK_EXPIRES") return <div className={cn(look, "font-medium text-retry")}>{words.expiry(lead, now)}</div>;
  return <div className={look}>{lead.needsYou === "WAITING" ? words.waiting(lead, now) : words.behaviour(lead)}</div>;
}

/** At the end of the row stands what matters next: the amount, the stage, or how promising it is. */
function RowEnd({ lead }: { lead: DeskLead }) {
  const t = useTranslations("desk");
  const states = useTranslations("states");
  const { format } = useDesk();
  if (lead.status === "sealed" && lead.sale) {
    const look = deliveryLook(lead);
    return (
      <span className={endLook}>
        {look && <look.icon className={cn("size-3.5", look.className)} />}
        {format.money(lead.sale.amountCents, lead.sale.currency)}
      </span>
    );
  }
  if (lead.status !== "intent")
    return (
      <Tag
        className="ml-2 h-5 flex-none text-content"
        {...(lead.status === "qualified" && { icon: UserCheck })}
        {...(lead.status === "meeting" && { icon: CalendarCheck })}
      >
        {states(lead.status)}
      </Tag>
    );
  return (
    <span className={endLook} title={t("score.of", { score: lead.score })}>
      <i className="block h-1 w-8.5 overflow-hidden rounded-[2px] bg-surface-3 desk:group-data-on/lead:bg-accent-line">
        <i className="block h-full rounded-[2px] bg-support desk:group-data-on/lead:bg-accent-mark" style={{ width: `${lead.score}%` }} />
      </i>
      {lead.score}
    </span>
  );
}
