import { Bot, Copy, CopyCheck, EyeOff, type LucideIcon, OctagonX, ShieldOff } from "lucide-react";
import Link from "next/link";
import { useLocale, useTranslations } from "next-intl";
import { Card } from "#components/ui/card.tsx";
import { billingFormat } from "#lib/billing/billing-format.ts";
import { type BillingOverview, type DropReason, dropReasons } from "#lib/billing/billing-shapes.ts";

const icons: Record<DropReason, LucideIcon> = { duplicate: Copy, bot: Bot, consent: ShieldOff, privacy_signal: EyeOff, quota: OctagonX };

/** Everything that knocked this month: what was billed, and what was turned away and why. */
export function ArrivalsCard({ overview, eventsHref }: { overview: BillingOverview; eventsHref: string }) {
  const t = useTranslations("billing.arrivals");
  const format = billingFormat(useLocale(), overview.currency);
  return (
    <Card title={t("title")}>
      <Link className="list-row" href={eventsHref}>
        <CopyCheck className="i t3" />
        <span className="grow">
          {t("accepted")}
          <span className="xs t3 block">{t("acceptedNote")}</span>
        </span>
        <span className="med">{format.number(overview.used)}</span>
      </Link>
      {dropReasons.map((reason) => {
        const Icon = icons[reason];
        return (
          <div key={reason} className="list-row">
            <Icon className="i t3" />
            <span className="grow">
              {t(`${reason}.name`)}
              <span className="xs t3 block">{t(`${reason}.note`)}</span>
            </span>
            <span className="med">{format.number(overview.drops[reason] ?? 0)}</span>
          </div>
        );
      })}
    </Card>
  );
}
