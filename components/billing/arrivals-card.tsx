import { Bot, Copy, CopyCheck, EyeOff, Gauge, type LucideIcon, OctagonX, ShieldOff } from "lucide-react";
import Link from "next/link";
import { useLocale, useTranslations } from "next-intl";
import { Card } from "#components/ui/card.tsx";
import { ListRow, listRow } from "#components/ui/list-row.tsx";
import { billingFormat } from "#lib/billing/billing-format.ts";
import { type BillingOverview, type DropReason, dropReasons } from "#lib/billing/billing-shapes.ts";

const icons: Record<DropReason, LucideIcon> = {
  duplicate: Copy,
  bot: Bot,
  consent: ShieldOff,
  privacy_signal: EyeOff,
  quota: OctagonX,
  ceiling: Gauge,
};

/** All events that arrived this month: those billed, and those refused with their reason. */
export function ArrivalsCard({ overview, eventsHref }: { overview: BillingOverview; eventsHref: string }) {
  const t = useTranslations("billing.arrivals");
  const format = billingFormat(useLocale(), overview.currency);
  return (
    <Card title={t("title")}>
      <Link className={listRow} href={eventsHref}>
        <CopyCheck className="text-meta" />
        <span className="min-w-0 flex-1 max-desk:basis-3/5">
          {t("accepted")}
          <span className="text-xs text-meta block">{t("acceptedNote")}</span>
        </span>
        <span className="font-medium">{format.number(overview.used)}</span>
      </Link>
      {dropReasons.map((reason) => {
        const Icon = icons[reason];
        return (
          <ListRow key={reason}>
            <Icon className="text-meta" />
            <span className="min-w-0 flex-1 max-desk:basis-3/5">
              {t(`${reason}.name`)}
              <span className="text-xs text-meta block">
                {t(reason === "consent" || reason === "privacy_signal" ? "notStored" : "notBilled")}
              </span>
            </span>
            <span className="font-medium">{format.number(overview.drops[reason] ?? 0)}</span>
          </ListRow>
        );
      })}
    </Card>
  );
}
