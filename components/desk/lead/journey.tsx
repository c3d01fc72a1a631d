"use client";

import { useTranslations } from "next-intl";
import { cn } from "#components/ui/cn.ts";
import { Skeleton } from "#components/ui/skeleton.tsx";
import type { DeskLead, LeadDetail } from "#lib/leads/desk-shapes.ts";
import { type JourneyStep, journeyOf } from "#lib/leads/journey.ts";
import { useNow } from "../desk-clock.tsx";
import { useDesk } from "../desk-context.tsx";
import { sendTime } from "../seal/send-time.ts";
import { stepLook } from "./step-look.ts";
import { useStepWords } from "./use-step-words.tsx";

/** The way from the first ad click to what Google said, and the steps still to come. */
export function Journey({ lead, detail }: { lead: DeskLead; detail: LeadDetail | undefined }) {
  const t = useTranslations("desk.journey");
  const { rules, format } = useDesk();
  const now = useNow(60_000);
  if (!detail) return <JourneySkeleton />;
  // What was just done here is newer than what was read.
  const steps = journeyOf({ ...detail, ...lead }, sendTime(lead, rules, now).at.toISOString());
  let day = "";
  return (
    <ol className="tl" aria-label={t("title")}>
      {steps.map((step, index) => {
        const isNewDay = "at" in step && format.day(step.at) !== day;
        if ("at" in step) day = format.day(step.at);
        // biome-ignore lint/suspicious/noArrayIndexKey: steps are only ever added at the end
        return <Step key={index} step={step} next={steps[index + 1]} isNewDay={isNewDay} now={now} />;
      })}
    </ol>
  );
}

function Step({ step, next, isNewDay, now }: { step: JourneyStep; next: JourneyStep | undefined; isNewDay: boolean; now: Date }) {
  const t = useTranslations("desk.journey");
  const { format } = useDesk();
  const words = useStepWords();
  const { text, note } = words(step);
  if (step.kind === "gap") {
    return (
      <li className="gap">
        <span />
        <span className="tx">{text}</span>
      </li>
    );
  }
  const { icon: Icon, className } = stepLook(step);
  const time = () => {
    if (step.kind === "todo")
      return step.what === "seal"
        ? t("now")
        : step.from && Date.parse(step.from) > now.getTime() && t("from", { time: format.moment(step.from, now) });
    return isNewDay ? format.moment(step.at, now) : format.time(step.at);
  };
  return (
    <li className={cn(next?.kind === "todo" && "next")}>
      <span className={cn("n", className)}>{Icon && <Icon className="i" />}</span>
      <span className="tx">
        {text}
        {note && <small>{note}</small>}
      </span>
      <time>{time()}</time>
    </li>
  );
}

const widths = ["68%", "52%", "60%", "44%", "56%"];

/** In the size of what is coming, so that nothing jumps. */
function JourneySkeleton() {
  const t = useTranslations("desk.journey");
  return (
    <div role="status">
      <span className="sr">{t("loading")}</span>
      {widths.map((width) => (
        <div key={width} className="row h-[42px] items-start gap-3" aria-hidden="true">
          <Skeleton width={22} height={22} radius={11} />
          <span className="grow pt-1">
            <Skeleton width={width} />
          </span>
        </div>
      ))}
    </div>
  );
}
