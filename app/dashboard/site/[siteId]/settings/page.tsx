import type { Metadata } from "next";
import { getLocale, getTranslations } from "next-intl/server";
import { OwnersOnly } from "#components/shell/owners-only.tsx";
import { ArchiveSite } from "#components/sites/archive-site.tsx";
import { CeilingsForm } from "#components/sites/ceilings-form.tsx";
import { DeliveryForm } from "#components/sites/delivery-form.tsx";
import { RestoreSite } from "#components/sites/restore-site.tsx";
import { siteChoices } from "#components/sites/site-choices.ts";
import { SiteForm } from "#components/sites/site-form.tsx";
import { Card, CardBody } from "#components/ui/card.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { SecretText } from "#components/ui/secret-text.tsx";
import { readPage } from "#lib/auth/session.ts";
import { env } from "#lib/env.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { getSite, readSiteCeilings, readSiteDelivery } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("nav");
  return { title: t("settings") };
}

async function SettingsPage({ params }: { params: Promise<{ siteId: string }> }) {
  const site = await getSite((await params).siteId);
  if (site.role !== "owner") return <OwnersOnly siteId={site.siteId} />;
  const [t, word, locale, delivery, ceilings] = await Promise.all([
    getTranslations("settings"),
    getTranslations(),
    getLocale(),
    readPage(readSiteDelivery, site.siteId),
    readPage(readSiteCeilings, site.siteId),
  ]);
  return (
    <>
      <PageHeader title={word("nav.settings")} />
      <Page narrow>
        {site.archivedAt === null && (
          <SiteForm
            title={word("labels.aboutSite")}
            submit={word("actions.save")}
            done={t("saved")}
            method="PATCH"
            url={`/api/sites/${site.siteId}`}
            values={site}
            choices={siteChoices(locale, site)}
          />
        )}
        {/* A form of the old currency would offer the old average order in the new one. */}
        {site.archivedAt === null && <DeliveryForm key={site.currency} site={site} appUrl={env().APP_URL} delivery={delivery} />}
        {site.archivedAt === null && <CeilingsForm site={site} ceilings={ceilings} />}
        <Card title={word("labels.siteId")}>
          <CardBody className="grid gap-3">
            <p className="text-sm text-support text-pretty">{t("siteIdHint")}</p>
            <SecretText value={site.siteId} label={word("labels.siteId")} />
          </CardBody>
        </Card>
        {site.archivedAt === null ? (
          <ArchiveSite siteId={site.siteId} name={site.name} />
        ) : (
          <Card title={word("archive.restoreTitle")}>
            <CardBody className="flex min-w-0 items-center gap-3 flex-wrap">
              <p className="text-sm text-support min-w-0 flex-1 min-w-60 text-pretty">{word("archive.restoreLead")}</p>
              <RestoreSite siteId={site.siteId} name={site.name} />
            </CardBody>
          </Card>
        )}
      </Page>
    </>
  );
}

export default withMessages("dashboard/site/[siteId]/settings/page", SettingsPage);
