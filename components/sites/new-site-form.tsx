"use client";

import { useRouter } from "next/navigation";
import { useLocale, useTranslations } from "next-intl";
import { sitePath } from "#components/shell/nav-items.ts";
import { defaultTimeZone } from "#lib/i18n/locale.ts";
import type { SiteId } from "#lib/site.ts";
import type { SiteChoices } from "./site-choice-fields.tsx";
import { SiteForm } from "./site-form.tsx";

export function NewSiteForm({ choices }: { choices: SiteChoices }) {
  const t = useTranslations();
  const router = useRouter();
  const locale = useLocale();
  return (
    <SiteForm
      title={t("labels.aboutSite")}
      submit={t("newSite.submit")}
      done={t("newSite.done")}
      method="POST"
      url="/api/sites"
      values={{ name: "", domains: [], currency: "TRY", timezone: defaultTimeZone, locale }}
      choices={choices}
      onDone={({ siteId }) => router.push(typeof siteId === "string" ? sitePath(siteId as SiteId, "/setup") : "/dashboard")}
    />
  );
}
