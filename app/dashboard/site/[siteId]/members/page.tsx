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
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { getSite, readTeam } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("nav");
  return { title: t("members") };
}

async function MembersPage({ params }: { params: Promise<{ siteId: string }> }) {
  const site = await getSite((await params).siteId);
  if (site.role !== "owner") return <OwnersOnly siteId={site.siteId} />;
  const [t, nav, team] = await Promise.all([getTranslations("members"), getTranslations("nav"), readPage(readTeam, site.siteId)]);
  const { members, invitations } = team;
  const editable = site.archivedAt === null;
  return (
    <>
      <PageHeader title={nav("members")} note={t("count", { count: members.length })}>
        {editable && <InviteDialog siteId={site.siteId} />}
      </PageHeader>
      <Page>
        <Card aria-label={nav("members")}>
          <MemberTable siteId={site.siteId} members={members} timeZone={site.timezone} editable={editable} />
        </Card>
        {invitations.length > 0 && <OpenInvitations siteId={site.siteId} invitations={invitations} timeZone={site.timezone} />}
      </Page>
    </>
  );
}

export default withMessages("dashboard/site/[siteId]/members/page", MembersPage);
