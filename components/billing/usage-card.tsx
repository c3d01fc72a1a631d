import { CircleGauge, OctagonX, TrendingUp } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { Card } from "#components/ui/card.tsx";
import { cn } from "#components/ui/cn.ts";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { BillingOverview } from "#lib/billing/billing-shapes.ts";
import { type Forecast, fullOn } from "#lib/billing/forecast.ts";
import { keptForLeads } from "./kept-for-leads.ts";

/** Striped, so that it stands out without relying on colour. */
const keptStripes = "bg-[repeating-linear-gradient(135deg,var(--color-completed)_0_2px,transparent_2px_5px)]";

interface UsageProps {
  overview: BillingOverview;
  forecast: Forecast;
}

/** This month's figure against the plan, and what it is on course for. */
export function UsageCard({ overview, forecast }: UsageProps) {
  const t = useTranslations("billing.usage");
  const format = billingFormat(useLocale(), overview.currency);
  const { plan, used } = overview;
  const kept = keptForLeads(plan);
  return (
    <Card aria-label={t("label")}>
      <div className="grid grid-cols-[auto_1fr_auto] items-end gap-x-4 gap-y-2 px-5 pt-5 pb-4 max-desk:grid-cols-[1fr_auto] max-desk:p-4">
        <div>
          <div className="text-xs font-medium text-meta">{t("used")}</div>
          <div className="text-2xl font-semibold tracking-[-0.028em]" data-slot="used">
            {format.number(used)}
          </div>
        </div>
        <div className="pb-1.5 text-sm text-support max-desk:col-span-full max-desk:row-start-2 max-desk:pb-0.5">
          {t(plan.monthlyLimit === null ? "inPlan" : "ofPlan", {
            limit: format.number(plan.monthlyLimit ?? 0),
            plan: plan.name,
            price: format.roundMoney(plan.basePriceCents),
          })}
        </div>
        <div className="text-right whitespace-nowrap">
          <div className="text-xs font-medium text-meta">{t("onCourse")}</div>
          <div className="text-xl leading-(--text-2xl--line-height) font-semibold tracking-[-0.02em]">{format.number(forecast.total)}</div>
        </div>
        <UsageTrack used={used} expected={forecast.total} plan={plan} format={format} />
      </div>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-t border-line-1 px-5 py-3 text-sm max-desk:px-4">
        <UsageNote overview={overview} forecast={forecast} />
        {kept > 0 && (
          <span className="inline-flex items-center gap-1.5 text-xs whitespace-nowrap text-support">
            <i className={cn("size-2.25 rounded-[2px] bg-surface-3", keptStripes)} />
            {t("kept", { kept: format.number(kept) })}
          </span>
        )}
      </div>
    </Card>
  );
}

interface TrackProps {
  used: number;
  expected: number;
  plan: BillingOverview["plan"];
  format: ReturnType<typeof billingFormat>;
}

function UsageTrack({ used, expected, plan, format }: TrackProps) {
  const limit = plan.monthlyLimit;
  const t = useTranslations("billing.usage");
  // The plan's mark stands at four fifths, unless the month goes further.
  const scale = Math.max((limit ?? 0) * 1.25, expected * 1.04, 1);
  const width = (value: number) => `${(100 * value) / scale}%`;
  const words = { used: format.number(used), forecast: format.number(expected), limit: format.number(limit ?? 0) };
  const bar = t(limit === null ? "barNoLimit" : "bar", words);
  const kept = keptForLeads(plan);
  // A cap far beyond the month's course has no place on the bar; the words name it all the same.
  const isKeptInSight = kept > 0 && (plan.capEvents ?? 0) <= scale;
  return (
    <div
      className="relative col-span-full mt-1 mb-5 h-2.5 rounded-[5px] bg-surface-3"
      role="img"
      aria-label={kept > 0 ? `${bar}, ${t("kept", { kept: format.number(kept) })}` : bar}
    >
      <span className="absolute inset-y-0 left-0 rounded-[5px] bg-accent-line" style={{ width: width(expected) }} />
      <span className="absolute inset-y-0 left-0 rounded-[5px] bg-accent-mark" style={{ width: width(used) }} />
      {isKeptInSight && (
        <span
          data-slot="kept"
          className={cn("absolute inset-y-0 border-l-2 border-surface-1", keptStripes)}
          style={{ left: width(plan.openEvents ?? 0), width: width(kept) }}
        />
      )}
      {limit !== null && (
        <span className="absolute -inset-y-1 w-0.5 bg-content" style={{ left: width(limit) }}>
          <span className="absolute top-5.5 left-1/2 -translate-x-1/2 text-xs leading-none whitespace-nowrap text-support">
            {t("planMark", { limit: format.number(limit) })}
          </span>
        </span>
      )}
    </div>
  );
}

/** One sentence: how this month ends if it continues like this. */
function UsageNote({ overview, forecast }: UsageProps) {
  const t = useTranslations("billing.note");
  const format = billingFormat(useLocale(), overview.currency);
  const { plan, used } = overview;
  const lastDay = format.longDay(forecast.days.at(-1)?.day ?? overview.yearMonth);
  if (plan.monthlyLimit === null) return line(CircleGauge, "text-meta", t("noLimit"));
  const { capEvents: cap, openEvents: open } = plan;
  if (cap !== null && used >= cap) return line(OctagonX, "text-failed", t("isFull"));
  if (cap !== null && open !== null && used >= open)
    return line(OctagonX, "text-retry", t("onlyLeads", { left: format.number(cap - used) }));
  const fullDay = open === null ? null : fullOn(forecast, open);
  const kept = keptForLeads(plan);
  if (fullDay) {
    const values = { day: format.longDay(fullDay), kept: format.number(kept) };
    return line(TrendingUp, "text-retry", kept > 0 ? t("fullOpen", values) : t("full", values));
  }
  const over = forecast.total - plan.monthlyLimit;
  if (over <= 0) return line(CircleGauge, "text-completed", t("within", { left: format.number(-over) }));
  const moreCents = Math.round((over * plan.overageCentsPer1000) / 1000);
  if (moreCents === 0) return line(TrendingUp, "text-retry", t("overFree", { over: format.number(over), day: lastDay }));
  const roundCents = moreCents >= 100 ? Math.round(moreCents / 100) * 100 : moreCents;
  const values = { over: format.number(over), day: lastDay, price: format.roundMoney(roundCents) };
  return line(TrendingUp, "text-retry", t.rich("over", { ...values, b: (words) => <b className="font-semibold">{words}</b> }));
}

function line(Icon: typeof TrendingUp, tone: string, words: React.ReactNode) {
  return (
    <p className="flex flex-[1_1_260px] gap-2.5 text-pretty">
      <Icon className={cn("mt-px", tone)} />
      <span>{words}</span>
    </p>
  );
}
