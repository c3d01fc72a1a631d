"use client";

import { Hourglass, Link2, type LucideIcon, MapPin, MonitorSmartphone, Repeat2, Unlink } from "lucide-react";
import { useTranslations } from "next-intl";
import { Tag } from "#components/ui/badge.tsx";
import { useNow } from "#components/workbench/live/clock.tsx";
import type { DeskLead, LeadDetail } from "#lib/leads/desk-shapes.ts";
import { useDesk } from "../desk-context.tsx";
import { channelIcons } from "../list/lead-state.ts";

/** The facts of a lead in one line. What only the whole lead knows appears when it has been read. */
export function LeadFacts({ lead, detail }: { lead: DeskLead; detail: LeadDetail | null }) {
  const t = useTranslations("desk");
  const word = useTranslations();
  const { format } = useDesk();
  const now = useNow(60_000);
  const visit = detail?.visits.findLast(({ startedAt }) => startedAt <= lead.calledAt);
  const device = `detail.device.${visit?.device}` as "detail.device.mobile"; // has() checks it before it is used
  const block = lead.clickBlock ?? (lead.clickExpiresAt ? null : "NO_CLICK_ID");
  const facts: [LucideIcon, string][] = [
    [
      channelIcons[lead.channel],
      t("detail.calledAt", { channel: word(`channels.${lead.channel}`), time: format.moment(lead.calledAt, now) }),
    ],
    [MapPin, [visit?.city, visit?.country].filter(Boolean).join(", ")],
    [Repeat2, t("detail.visits", { count: lead.visitsBefore + 1 })],
    [MonitorSmartphone, t.has(device) ? t(device) : ""],
    [
      lead.clickBlock ? Unlink : Link2,
      block ? word(`blocks.${block}`) : t("detail.clickUntil", { date: format.date(lead.clickExpiresAt ?? "") }),
    ],
    [Hourglass, detail?.signalWaits ? t("detail.signalWaits") : ""],
  ];
  return (
    <div className="flex w-full flex-wrap gap-x-4 gap-y-1 text-sm text-support">
      {facts.map(
        ([Icon, words]) =>
          words && (
            <span key={words} className="inline-flex items-center gap-1.5">
              <Icon className="size-3.5 text-meta" />
              {words}
            </span>
          ),
      )}
    </div>
  );
}

const reasons = ["conversion", "returningAdUser", "scroll90", "hoverIntent", "scroll50", "interaction", "google"] as const;

/** Why a lead scores what it scores; what the visitor did to reach out is named by its channel. */
export function ScoreReasons({ lead: { score, points, channel } }: { lead: DeskLead }) {
  const t = useTranslations("desk");
  const { format } = useDesk();
  const sum = Object.values(points).reduce((total, count) => total + count, 0);
  return (
    <>
      <div className="mb-2.5 flex items-center gap-2">
        <h3 className="text-base font-semibold tracking-[-0.003em]">{t("score.title", { score })}</h3>
        {sum > score && <span className="text-xs text-meta">{t("score.capped", { points: sum })}</span>}
      </div>
      <ul className="mb-5 flex flex-wrap gap-1.5">
        {reasons.map((reason) => {
          const count = points[reason];
          return count === undefined ? null : (
            <li key={reason} className="flex">
              <Tag>
                {reason === "conversion" ? t(`reached.${channel}`) : t(`score.${reason}`)}{" "}
                <b className="font-semibold text-content">{format.points(count)}</b>
              </Tag>
            </li>
          );
        })}
      </ul>
    </>
  );
}
