import { Building2, Plus } from "lucide-react";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { InvitationCard } from "#components/sites/invitation-card.tsx";
import { SiteTable } from "#components/sites/site-table.tsx";
import { ButtonLink } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { readPage } from "#lib/auth/session.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { listSites } from "#lib/tenancy/readers.ts";
import { readSitesOverview } from "#lib/tenancy/sites-overview.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("nav");
  return { title: t("sites") };
}

async function SitesPage() {
  const [t, nav, { sites, invitations, mayCreate }, figures] = await Promise.all([
    getTranslations("sites"),
    getTranslations("nav"),
    listSites(),
    readPage(readSitesOverview),
  ]);
  const newSite = mayCreate && (
    <ButtonLink href="/dashboard/sites/new" tone="primary">
      <Plus />
      {nav("newSite")}
    </ButtonLink>
  );
  return (
    <>
      <PageHeader title={nav("sites")} note={sites.length > 0 && t("count", { count: sites.length })}>
        {sites.length > 0 && newSite}
      </PageHeader>
      <Page>
        {invitations.length > 0 && <InvitationCard invitations={invitations} />}
        {sites.length > 0 ? (
          <Card aria-label={nav("sites")}>
            <SiteTable sites={sites} figures={figures} />
          </Card>
        ) : (
          <Card>
            <EmptyState icon={Building2} title={t("none")} action={newSite}>
              {t(mayCreate ? "noneCreate" : "noneWait")}
            </EmptyState>
          </Card>
        )}
      </Page>
    </>
  );
}

export default withMessages("dashboard/(home)/page", SitesPage);
