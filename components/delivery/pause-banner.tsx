import { getLocale, getTranslations } from "next-intl/server";
import { Alert } from "#components/ui/alert.tsx";
import { readPage } from "#lib/auth/session.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { previewPause } from "#lib/tenancy/pause.ts";
import type { Pause, SiteSummary } from "#lib/tenancy/site-fields.ts";
import { ResumeSending } from "./resume-sending.tsx";

/** On each page of a paused site: until when, why, and how many rows Google no longer takes by then. */
export async function PauseBanner({ site, pause }: { site: SiteSummary; pause: Pause }) {
  const [t, locale, { waiting, expiring }] = await Promise.all([
    getTranslations("pause"),
    getLocale(),
    readPage(previewPause, site.siteId, pause.until),
  ]);
  const time = siteFormat({ locale, timeZone: site.timezone }).dateTime(pause.until);
  return (
    <Alert
      tone="blocked"
      className="mt-4"
      title={t("paused", { time })}
      action={site.role === "owner" && <ResumeSending siteId={site.siteId} />}
    >
      {t("why", { reason: pause.reason })} {t("waiting", { count: waiting })} {expiring > 0 && t("expiring", { count: expiring })}
    </Alert>
  );
}
