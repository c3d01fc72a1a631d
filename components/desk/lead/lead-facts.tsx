"use client";

import { Link2, MapPin, MonitorSmartphone, Repeat2, Unlink } from "lucide-react";
import { useTranslations } from "next-intl";
import type { DeskLead, LeadDetail } from "#lib/leads/desk-shapes.ts";
import { useNow } from "../desk-clock.tsx";
import { useDesk } from "../desk-context.tsx";
import { channelIcons } from "../list/lead-state.ts";

/** The facts of a lead in one line. What only the whole lead knows appears when it has been read. */
export function LeadFacts({ lead, detail }: { lead: DeskLead; detail: LeadDetail | undefined }) {
  const t = useTranslations("desk");
  const { format } = useDesk();
  const now = useNow(60_000);
  const Channel = channelIcons[lead.channel];
  const visit = detail?.visits.findLast(({ startedAt }) => startedAt <= lead.calledAt);
  const place = [visit?.city, visit?.country].filter(Boolean).join(", ");
  const device = visit?.device as "mobile" | undefined; // has() checks it before it is used
  return (
    <div className="facts">
      <span>
        <Channel className="i" />
        {t("detail.calledAt", { channel: t(`channel.${lead.channel}`), time: format.moment(lead.calledAt, now) })}
      </span>
      {place && (
        <span>
          <MapPin className="i" />
          {place}
        </span>
      )}
      <span>
        <Repeat2 className="i" />
        {t("detail.visits", { count: lead.visitsBefore + 1 })}
      </span>
      {device && t.has(`detail.device.${device}`) && (
        <span>
          <MonitorSmartphone className="i" />
          {t(`detail.device.${device}`)}
        </span>
      )}
      <span>
        {lead.clickBlock ? <Unlink className="i" /> : <Link2 className="i" />}
        {lead.clickBlock || !lead.clickExpiresAt
          ? t(`detail.${lead.clickBlock ?? "NO_CLICK_ID"}`)
          : t("detail.clickUntil", { date: format.date(lead.clickExpiresAt) })}
      </span>
    </div>
  );
}
