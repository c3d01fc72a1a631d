import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { KeptTable } from "#components/privacy/kept-table.tsx";
import { PersonSearch } from "#components/privacy/person-search.tsx";
import { ReceiptTable } from "#components/privacy/receipt-table.tsx";
import { RetentionChoice } from "#components/privacy/retention-choice.tsx";
import { OwnersOnly } from "#components/shell/owners-only.tsx";
import { Card } from "#components/ui/card.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { readPage } from "#lib/auth/session.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { readErasures } from "#lib/privacy/owners-door.ts";
import { readRetention, retentionPeriods } from "#lib/privacy/retention.ts";
import { getSite } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("nav");
  return { title: t("privacy") };
}

async function PrivacyPage({ params }: { params: Promise<{ siteId: string }> }) {
  const site = await getSite((await params).siteId);
  if (site.role !== "owner") return <OwnersOnly siteId={site.siteId} />;
  const [t, word, retention, receipts] = await Promise.all([
    getTranslations("personalData"),
    getTranslations(),
    readPage(readRetention, site.siteId),
    readPage(readErasures, site.siteId),
  ]);
  const periods = retentionPeriods();
  return (
    <>
      <PageHeader title={word("nav.privacy")} />
      <Page>
        <PersonSearch siteId={site.siteId} timeZone={site.timezone} />
        <Card title={t("kept.title")}>
          <KeptTable periods={periods} retention={retention} timeZone={site.timezone} />
          {site.archivedAt === null && (
            <RetentionChoice siteId={site.siteId} monthsMax={periods.personalMonths} chosen={retention.personalMonths} />
          )}
        </Card>
        {receipts.length > 0 && (
          <Card title={t("receipts.title")} note={t("receipts.note")}>
            <ReceiptTable receipts={receipts} timeZone={site.timezone} />
          </Card>
        )}
      </Page>
    </>
  );
}

export default withMessages("dashboard/site/[siteId]/privacy/page", PrivacyPage);
