"use client";

import { useTranslations } from "next-intl";
import { Skeleton } from "#components/ui/skeleton.tsx";
import { Timeline, TimelineGap, TimelineStep } from "#components/ui/timeline.tsx";
import { useNow } from "#components/workbench/live/clock.tsx";
import type { DeskLead, LeadDetail } from "#lib/leads/desk-shapes.ts";
import { type JourneyStep, journeyOf } from "#lib/leads/journey.ts";
import { useDesk } from "../desk-context.tsx";
import { sendTime } from "../list/lead-state.ts";
import { useJourneyStep } from "./use-journey-step.tsx";

/** The way from the first ad click to what Google said, and the steps still to come. */
export function Journey({ lead, detail }: { lead: DeskLead; detail: LeadDetail | null }) {
  const t = useTranslations("desk.journey");
  const { rules, format } = useDesk();
  const lookOf = useJourneyStep();
  const now = useNow(60_000);
  if (!detail) return <JourneySkeleton />;
  // What was just done here is newer than what was read.
  const steps = journeyOf(
    { ...detail, ...lead },
    { sendFrom: sendTime(lead, rules, now).at.toISOString(), hasVerdicts: rules.syncMethod === "api" },
  );
  const timeOf = (step: JourneyStep, index: number) => {
    if (step.kind !== "todo") {
      const before = steps[index - 1];
      const isSameDay = before && "at" in before && format.day(before.at) === format.day(step.at);
      return isSameDay ? format.time(step.at) : format.moment(step.at, now);
    }
    if (step.what === "seal") return t("now");
    return step.from && Date.parse(step.from) > now.getTime() && t("from", { time: format.moment(step.from, now) });
  };
  return (
    <Timeline aria-label={t("title")}>
      {steps.map((step, index) => {
        const { text, ...look } = lookOf(step);
        const key = index; // steps are only ever added at the end
        if (step.kind === "gap") return <TimelineGap key={key}>{text}</TimelineGap>;
        const isNextOpen = steps[index + 1]?.kind === "todo";
        return (
          <TimelineStep key={key} {...look} time={<time>{timeOf(step, index)}</time>} isNextOpen={isNextOpen}>
            {text}
          </TimelineStep>
        );
      })}
    </Timeline>
  );
}

const widths = ["68%", "52%", "60%", "44%", "56%"];

/** In the size of what is coming, so that nothing jumps. */
function JourneySkeleton() {
  const t = useTranslations("desk.journey");
  return (
    <div role="status">
      <span className="sr-only">{t("loading")}</span>
      {widths.map((width) => (
        <div key={width} className="flex h-10.5 items-start gap-3" aria-hidden="true">
          <Skeleton width={22} height={22} radius={11} />
          <span className="min-w-0 flex-1 pt-1">
            <Skeleton width={width} />
          </span>
        </div>
      ))}
    </div>
  );
}
