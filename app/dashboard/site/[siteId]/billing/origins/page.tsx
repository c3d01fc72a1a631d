import { Download, Receipt } from "lucide-react";
import type { Metadata } from "next";
import { getLocale, getTranslations } from "next-intl/server";
import { z } from "zod";
import { DownloadLink, originsCsvUrl } from "#components/billing/download-link.tsx";
import { OriginDays } from "#components/billing/origin-days.tsx";
import { OriginsTable, originsShown } from "#components/billing/origins-table.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Card, CardFoot } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { FilterRow } from "#components/workbench/filter/filter-row.tsx";
import { readPage } from "#lib/auth/session.ts";
import { billingFormat } from "#lib/billing/billing-format.ts";
import { readUsageOrigins } from "#lib/billing/usage-origins.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { getSite } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("billing.origins");
  return { title: t("title") };
}

interface OriginsPageProps {
  params: Promise<{ siteId: string }>;
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}

const filter = z.object({ day: z.iso.date().optional().catch(undefined) });

/** Where a day's units came from, for operators and owners. */
async function OriginsPage({ params, searchParams }: OriginsPageProps) {
  const site = await getSite((await params).siteId);
  const { day } = filter.parse(await searchParams);
  const [t, word, locale, found] = await Promise.all([
    getTranslations("billing.origins"),
    getTranslations(),
    getLocale(),
    readPage(readUsageOrigins, site.siteId, day),
  ]);
  const format = billingFormat(locale);
  const facts = { day: format.longDay(found.day), units: format.number(found.units), usual: format.number(found.usual ?? 0) };
  return (
    <>
      <PageHeader title={t("title")} note={t("note", facts)} back={{ href: sitePath(site.siteId, "/billing"), label: word("nav.billing") }}>
        <FilterRow
          fields={[{ key: "day", kind: "day", label: word("labels.day"), shown: found.day, max: found.days.at(-1)?.day ?? found.day }]}
        />
        <DownloadLink href={originsCsvUrl(site.siteId, found.day)} fileName={`origins-${found.day}.csv`}>
          <Download className="size-3.5" />
          {word("actions.csv")}
        </DownloadLink>
      </PageHeader>
      <Page>
        {found.isUnusual && (
          <Alert tone="retry" title={t("unusual", facts)}>
            {t("dispute")}
          </Alert>
        )}
        <Card title={t("days")}>
          <OriginDays days={found.days} />
        </Card>
        <Card title={t("of", facts)}>
          {found.units === 0 ? (
            <EmptyState icon={Receipt} title={t("none")}>
              {t("noneBody")}
            </EmptyState>
          ) : (
            <OriginsTable {...found} />
          )}
          <CardFoot className="text-xs text-meta">
            {found.origins.length > originsShown && <p>{t("more", { shown: originsShown, count: format.number(found.origins.length) })}</p>}
            <p className="text-pretty">{t("kept")}</p>
          </CardFoot>
        </Card>
      </Page>
    </>
  );
}

export default withMessages("dashboard/site/[siteId]/billing/origins/page", OriginsPage);
