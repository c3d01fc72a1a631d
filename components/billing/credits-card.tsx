import Link from "next/link";
import { useLocale, useTranslations } from "next-intl";
import { Card } from "#components/ui/card.tsx";
import { ListRow } from "#components/ui/list-row.tsx";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { ListedCredit } from "#lib/billing/billing-shapes.ts";

/** Disputed days that were credited: how many units, why, in which invoice, and the proof. */
export function CreditsCard({ credits }: { credits: ListedCredit[] }) {
  const t = useTranslations("billing.credits");
  const format = billingFormat(useLocale());
  return (
    <Card title={t("title")}>
      {credits.map(({ id, day, units, dayEvents, reason, proofId, inInvoice }) => (
        <ListRow key={id}>
          <span className="grid min-w-0 flex-1 gap-0.5">
            <span>{t("line", { units: format.number(units), day: format.longDay(day) })}</span>
            {reason && (
              <span className="text-sm text-support text-pretty wrap-anywhere" data-untranslated>
                {reason}
              </span>
            )}
            <span className="text-xs text-meta">
              {inInvoice
                ? t("inInvoice", { count: format.number(dayEvents), month: format.month(inInvoice) })
                : t("waits", { count: format.number(dayEvents) })}
            </span>
            <Link className="link tap text-xs justify-self-start" href={`/dashboard/proofs/${proofId}`}>
              {t("proof")}
            </Link>
          </span>
        </ListRow>
      ))}
    </Card>
  );
}
