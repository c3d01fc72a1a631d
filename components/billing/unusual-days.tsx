import { useLocale, useTranslations } from "next-intl";
import { Alert } from "#components/ui/alert.tsx";
import { ButtonLink } from "#components/ui/button.tsx";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { JudgedDay } from "#lib/billing/billing-shapes.ts";

/** The newest unusual day of the month, with the way to where its units came from for those who may see it. */
export function UnusualDays({ days, originsHref }: { days: JudgedDay[]; originsHref: string | null }) {
  const t = useTranslations("billing.origins");
  const format = billingFormat(useLocale());
  const newest = days.at(-1);
  if (!newest) return null;
  const values = { day: format.longDay(newest.day), units: format.number(newest.units), usual: format.number(newest.usual ?? 0) };
  const action = originsHref && (
    <ButtonLink size="sm" href={`${originsHref}?day=${newest.day}`}>
      {t("see")}
    </ButtonLink>
  );
  return (
    <Alert tone="retry" title={t("unusual", values)} action={action}>
      {days.length > 1 && t("others", { count: days.length - 1 })}
    </Alert>
  );
}
