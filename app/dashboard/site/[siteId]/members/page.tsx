import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { InviteDialog } from "#components/members/invite-dialog.tsx";
import { MemberTable } from "#components/members/member-table.tsx";
import { OpenInvitations } from "#components/members/open-invitations.tsx";
import { OwnersOnly } from "#components/shell/owners-only.tsx";
import { Card } from "#components/ui/card.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { readPage } from "#lib/auth/session.ts";
import { getSite, readTeam } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("members");
  return { title: t("title") };
}

export default async function MembersPage({ params }: { params: Promise<{ siteId: string }> }) {
  const site = await getSite((await params).siteId);
  if (site.role !== "owner") return <OwnersOnly siteId={site.siteId} />;
  const [t, { members, invitations }] = await Promise.all([getTranslations("members"), readPage(readTeam, site.siteId)]);
  const editable = site.archivedAt === null;
  return (
    <>
      <PageHeader title={t("title")} note={t("count", { count: members.length })}>
        {editable && <InviteDialog siteId={site.siteId} />}
      </PageHeader>
      <Page>
        <Card aria-label={t("title")}>
          <MemberTable siteId={site.siteId} members={members} timeZone={site.timezone} editable={editable} />
        </Card>
        {invitations.length > 0 && <OpenInvitations siteId={site.siteId} invitations={invitations} timeZone={site.timezone} />}
      </Page>
    </>
  );
}
