import { Building2, KeyRound, Radio, Users } from "lucide-react";
import type { Metadata } from "next";
import { getLocale, getTranslations } from "next-intl/server";
import { sitePath } from "#components/shell/nav-items.ts";
import { GettingReady, type ReadyStep } from "#components/sites/getting-ready.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { getSite, listApiKeys, listMembers, readIngestStatus } from "#lib/tenancy/readers.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("nav");
  return { title: t("today") };
}

/** Owners see what is left to do, ticked by what the site really has. */
async function ownerSteps({ publicId, domains }: SiteSummary): Promise<ReadyStep[]> {
  const [t, team, keys, { lastEventAt }] = await Promise.all([
    getTranslations("ready"),
    listMembers(publicId),
    listApiKeys(publicId),
    readIngestStatus(publicId),
  ]);
  const memberCount = team.members.length;
  const liveKeys = keys.filter((key) => !key.revokedAt).length;
  return [
    { key: "site", icon: Building2, done: true, title: t("site"), note: t("siteNote", { domains: domains.join(", ") }) },
    {
      key: "snippet",
      icon: Radio,
      done: lastEventAt !== null,
      title: t(lastEventAt ? "snippetHere" : "snippet"),
      note: t(lastEventAt ? "snippetDone" : "snippetNote"),
      action: { href: sitePath(publicId, "/connections"), label: t("snippetAction") },
    },
    {
      key: "team",
      icon: Users,
      done: memberCount > 1,
      title: t(memberCount > 1 ? "teamHere" : "team"),
      note: memberCount > 1 ? t("teamDone", { count: memberCount }) : t("teamNote", { open: team.invitations.length }),
      action: { href: sitePath(publicId, "/members"), label: t("teamAction") },
    },
    {
      key: "apiKey",
      icon: KeyRound,
      done: liveKeys > 0,
      title: t(liveKeys > 0 ? "apiKeyHere" : "apiKey"),
      note: liveKeys > 0 ? t("apiKeyDone", { count: liveKeys }) : t("apiKeyNote"),
      action: { href: sitePath(publicId, "/connections"), label: t("apiKeyAction") },
    },
  ];
}

/** Until the first lead: owners get the list, the others are told that it is not their turn. No figure is invented. */
export default async function TodayPage({ params }: { params: Promise<{ siteId: string }> }) {
  const site = await getSite((await params).siteId);
  const [t, nav, locale] = await Promise.all([getTranslations("ready"), getTranslations("nav"), getLocale()]);
  return (
    <>
      <PageHeader title={nav("today")} note={siteFormat({ locale, timeZone: site.timezone }).weekday(new Date())} />
      {site.role === "owner" ? (
        <div className="page narrow">
          <GettingReady steps={await ownerSteps(site)} footer={t("footer")} />
        </div>
      ) : (
        <section className="card">
          <EmptyState icon={Radio} title={t("noLead")}>
            {t("noLeadNext")}
          </EmptyState>
        </section>
      )}
    </>
  );
}
