import { CircleGauge, OctagonX, TrendingUp } from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { BillingOverview } from "#lib/billing/billing-shapes.ts";
import { type Forecast, fullOn } from "#lib/billing/forecast.ts";

interface UsageProps {
  overview: BillingOverview;
  forecast: Forecast;
}

/** This month's figure against the plan, and what it is on course for. */
export function UsageCard({ overview, forecast }: UsageProps) {
  const t = useTranslations("billing.usage");
  const format = billingFormat(useLocale(), overview.currency);
  const { plan, used } = overview;
  return (
    <section className="card" aria-label={t("label")}>
      <div className="use">
        <div>
          <div className="label">{t("used")}</div>
          <div className="fig-xl">{format.number(used)}</div>
        </div>
        <div className="t2 sm of-plan">
          {plan
            ? t(plan.monthlyLimit === null ? "inPlan" : "ofPlan", {
                limit: format.number(plan.monthlyLimit ?? 0),
                plan: plan.name,
                price: format.roundMoney(plan.basePriceCents),
              })
            : t("noPlan")}
        </div>
        <div className="num">
          <div className="label">{t("onCourse")}</div>
          <div className="course">{format.number(forecast.total)}</div>
        </div>
        <UsageTrack used={used} expected={forecast.total} limit={plan?.monthlyLimit ?? null} format={format} />
      </div>
      <div className="note-row">
        <UsageNote overview={overview} forecast={forecast} />
      </div>
    </section>
  );
}

interface TrackProps {
  used: number;
  expected: number;
  limit: number | null;
  format: ReturnType<typeof billingFormat>;
}

function UsageTrack({ used, expected, limit, format }: TrackProps) {
  const t = useTranslations("billing.usage");
  // The plan's mark stands at four fifths, unless the month goes further.
  const scale = Math.max((limit ?? 0) * 1.25, expected * 1.04, 1);
  const width = (value: number) => `${(100 * value) / scale}%`;
  const words = { used: format.number(used), forecast: format.number(expected), limit: format.number(limit ?? 0) };
  return (
    <div className="track" role="img" aria-label={t(limit === null ? "barNoLimit" : "bar", words)}>
      <span className="b" style={{ width: width(expected) }} />
      <span className="a" style={{ width: width(used) }} />
      {limit !== null && (
        <span className="mk" style={{ left: width(limit) }}>
          <span>{t("planMark", { limit: format.number(limit) })}</span>
        </span>
      )}
    </div>
  );
}

/** One sentence: what happens to this month if it goes on like this. */
function UsageNote({ overview, forecast }: UsageProps) {
  const t = useTranslations("billing.note");
  const format = billingFormat(useLocale(), overview.currency);
  const { plan, used } = overview;
  const lastDay = format.longDay(forecast.days.at(-1)?.day ?? overview.yearMonth);
  if (!plan?.monthlyLimit) return line(CircleGauge, "t3", t("noLimit"));
  const cap = plan.capEvents;
  if (cap !== null && used >= cap) return line(OctagonX, "fg-failed", t("isFull"));
  const fullDay = cap === null ? null : fullOn(forecast, cap);
  if (fullDay) return line(TrendingUp, "fg-retry", t("full", { day: format.longDay(fullDay) }));
  const over = forecast.total - plan.monthlyLimit;
  if (over <= 0) return line(CircleGauge, "fg-completed", t("within", { left: format.number(-over) }));
  const moreCents = Math.round((over * plan.overageCentsPer1000) / 1000);
  if (moreCents === 0) return line(TrendingUp, "fg-retry", t("overFree", { over: format.number(over), day: lastDay }));
  const roundCents = moreCents >= 100 ? Math.round(moreCents / 100) * 100 : moreCents;
  const values = { over: format.number(over), day: lastDay, price: format.roundMoney(roundCents) };
  return line(TrendingUp, "fg-retry", t.rich("over", { ...values, b: (words) => <b className="strong">{words}</b> }));
}

function line(Icon: typeof TrendingUp, tone: string, words: React.ReactNode) {
  return (
    <p>
      <Icon className={`i ${tone}`} />
      <span>{words}</span>
    </p>
  );
}
