"use client";

import { useTranslations } from "next-intl";
import { sitePath } from "#components/shell/nav-items.ts";
import { ButtonLink } from "#components/ui/button.tsx";
import { CopyButton } from "#components/ui/copy-button.tsx";
import { conversionKeys } from "#lib/tenancy/conversion-names.ts";
import type { SiteDelivery } from "#lib/tenancy/site-delivery.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";

const settings = ["source", "name", "value", "count", "window"] as const;

/** The conversion actions that must exist in Google Ads: their exact names, and what to choose for each. */
export function ActionsStep({ site, delivery }: { site: SiteSummary; delivery: SiteDelivery }) {
  const t = useTranslations("setup.actions");
  const names = useTranslations("delivery.nameKeys");
  const sent = conversionKeys.filter((key) =>
    key === "seal" ? true : key === "page_view" ? delivery.pageViewsEnabled && site.ociSyncMethod === "script" : delivery.signalsEnabled,
  );
  return (
    <>
      <p className="text-sm text-support text-pretty">{t("lead")}</p>
      <ul className="grid gap-2" aria-label={t("names")}>
        {sent.map((key) => (
          <li
            key={key}
            className="flex min-w-0 flex-wrap items-center gap-2 rounded-md bg-surface-2 py-1.5 pr-1.5 pl-3 inset-ring inset-ring-line-1"
          >
            <span className="w-36 text-sm text-meta max-desk:w-full">{names(key)}</span>
            <code className="id min-w-0 flex-1 font-sans text-sm select-all wrap-anywhere" data-untranslated>
              {delivery.conversionNames[key]}
            </code>
            <CopyButton value={delivery.conversionNames[key]} size="sm" />
          </li>
        ))}
      </ul>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-2 text-sm max-desk:grid-cols-1 max-desk:gap-y-1">
        {[
          ...settings.map((key) => ({ key, is: t(`settings.${key}.value`) })),
          { key: "account" as const, is: t(`settings.account.${site.ociSyncMethod}`) },
        ].map(({ key, is }) => (
          <div key={key} className="contents">
            <dt className="text-meta">{t(`settings.${key}.label`)}</dt>
            <dd className="text-pretty max-desk:pb-2">{is}</dd>
          </div>
        ))}
      </dl>
      <div className="flex flex-wrap gap-2">
        <ButtonLink href="https://ads.google.com/aw/conversions" target="_blank" rel="noreferrer">
          {t("openGoogle")}
        </ButtonLink>
        {site.ociSyncMethod === "api" && (
          <ButtonLink href={`${sitePath(site.siteId, "/connections/google-ads")}#actions`}>{t("choose")}</ButtonLink>
        )}
        <ButtonLink href={sitePath(site.siteId, "/settings")}>{t("rename")}</ButtonLink>
      </div>
    </>
  );
}
