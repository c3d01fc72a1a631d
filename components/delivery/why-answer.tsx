"use client";

import { Check, CircleDashed, Clock, X } from "lucide-react";
import Link from "next/link";
import { useLocale, useTranslations } from "next-intl";
import { useCause } from "#components/delivery/use-cause.ts";
import { sitePath } from "#components/shell/nav-items.ts";
import { Timeline, TimelineStep } from "#components/ui/timeline.tsx";
import { shortMoment } from "#lib/i18n/short-time.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { type FixPlace, type WhyMessage, whyMessage, whySteps } from "#lib/oci/queue/why-message.ts";
import type { WhyNotCounted } from "#lib/oci/queue/why-not-counted.ts";
import type { SiteId } from "#lib/site.ts";

interface WhyAnswerProps {
  answer: WhyNotCounted;
  siteId: SiteId;
  timeZone: string;
  openRowId: string | undefined;
  onLeave: () => void;
}

/** The answer in a sentence, the way with the place where it stops, and the fix. */
export function WhyAnswer({ answer, siteId, timeZone, openRowId, onLeave }: WhyAnswerProps) {
  const t = useTranslations("why");
  const locale = useLocale();
  const { facts } = answer;
  const causeOf = useCause(facts.syncMethod);
  const message = whyMessage(answer);
  const cause = message.causeCode ? causeOf(message.causeCode) : null;
  const moment = (value: string | null | undefined) => (value ? shortMoment({ locale, timeZone }, value, new Date()) : "–");
  const values = {
    time: moment(answer.at),
    sent: moment(facts.sentAt),
    hours: facts.clickMinAgeHours,
    name: facts.conversionName,
    order: facts.orderId,
    cause: cause?.what ?? "",
  };
  const money = (cents: number) => siteFormat({ locale, timeZone, currency: facts.currency }).money(cents);
  const fix = () => {
    if (message.fixKey === "noClick" && !facts.isOwner) return t("links.noClick.fixOthers");
    return message.fixKey ? t(`links.${message.fixKey}.fix`, values) : cause?.fix;
  };
  const isOutOfStep = message.tone === "counted" && facts.atGoogleCents !== undefined && facts.atGoogleCents !== facts.amountCents;
  return (
    <div className="grid gap-4" data-link={answer.link}>
      <p className="font-semibold">{t(`links.${message.key}.what`, values)}</p>
      {isOutOfStep && (
        <p className="text-sm text-support">{t("correction", { had: money(facts.atGoogleCents ?? 0), now: money(facts.amountCents) })}</p>
      )}
      <WhyWay message={message} isSealed={facts.isSealed} />
      <div>
        <h3 className="text-base font-semibold tracking-[-0.003em] mb-1">{t("todo")}</h3>
        <p className="text-sm text-support">{fix()}</p>
        {facts.archivedAt && message.key !== "archived" && message.tone !== "counted" && (
          <p className="text-sm text-support">{t("archived")}</p>
        )}
        <PlaceLink place={message.place} siteId={siteId} openRowId={openRowId} onLeave={onLeave} />
      </div>
      {message.causeCode && facts.error && <p className="text-xs text-meta id">{facts.error}</p>}
    </div>
  );
}

const looks = {
  done: { icon: Check, tone: "ok", className: "" },
  broken: { icon: X, tone: "bad", className: "font-medium" },
  waits: { icon: Clock, tone: "retry", className: "font-medium" },
  later: { icon: CircleDashed, tone: "plain", className: "text-meta" },
} as const;

/** Every step up to the broken one is done. Those after it were not reached, except the seal, which a person may have made anyway. */
function stateOf(index: number, { step, tone }: WhyMessage, isSealed: boolean): keyof typeof looks | "none" {
  const broken = whySteps.indexOf(step);
  if (tone === "counted" || index < broken) return "done";
  if (index > broken && isSealed && whySteps[index] === "seal") return "done";
  if (index > broken) return "later";
  return tone;
}

function WhyWay({ message, isSealed }: { message: WhyMessage; isSealed: boolean }) {
  const t = useTranslations("why.steps");
  return (
    <Timeline aria-label={t("label")}>
      {whySteps.map((step, index) => {
        const state = stateOf(index, message, isSealed);
        // No verdict comes this way: the answer says so, and no step stands as empty.
        if (state === "none") return null;
        return (
          <TimelineStep key={step} {...looks[state]}>
            <span aria-hidden="true">{t(step)}</span>
            <span className="sr-only">{t(state, { step: t(step) })}</span>
          </TimelineStep>
        );
      })}
    </Timeline>
  );
}

/** The page of Google Ads is open to every member, that of all connections to owners. */
const paths = { sales: "/sales", settings: "/settings", tracker: "/connections", connections: "/connections/google-ads" } as const;

interface PlaceLinkProps extends Pick<WhyAnswerProps, "siteId" | "openRowId" | "onLeave"> {
  place: FixPlace | null;
}

function PlaceLink({ place, siteId, openRowId, onLeave }: PlaceLinkProps) {
  const t = useTranslations("actions");
  if (!place || (place.to === "row" && place.rowId === openRowId)) return null;
  const href = place.to === "row" ? `${sitePath(siteId, "/oci-control")}?row=${place.rowId}` : sitePath(siteId, paths[place.to]);
  return (
    <Link className="text-sm link" href={href} onClick={onLeave}>
      {t(place.to)}
    </Link>
  );
}
