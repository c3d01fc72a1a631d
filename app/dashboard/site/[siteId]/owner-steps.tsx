import { Building2, KeyRound, Plug, Radio, Users } from "lucide-react";
import { getLocale, getTranslations } from "next-intl/server";
import { connectPath, sitePath } from "#components/shell/nav-items.ts";
import { GettingReady, type ReadyStep } from "#components/sites/getting-ready.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { readPage } from "#lib/auth/session.ts";
import { readConnection } from "#lib/delivery/connect.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";
import { readIngestStatus } from "#lib/ingest/failed-events.ts";
import type { SiteId } from "#lib/site.ts";
import { readApiKeys, readTeam } from "#lib/tenancy/readers.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";

async function ownerSteps({ siteId, domains, ociSyncMethod }: SiteSummary): Promise<ReadyStep[]> {
  const [t, actions, team, { lastEventAt }, googleStep] = await Promise.all([
    getTranslations("ready"),
    getTranslations("actions"),
    readPage(readTeam, siteId),
    readPage(readIngestStatus, siteId),
    ociSyncMethod === "api" ? connectionStep(siteId) : keyStep(siteId),
  ]);
  const memberCount = team.members.length;
  return [
    { key: "site", icon: Building2, done: true, title: t("site"), note: t("siteNote", { domains: domains.join(", ") }) },
    {
      key: "snippet",
      icon: Radio,
      done: lastEventAt !== null,
      title: t(lastEventAt ? "snippetHere" : "snippet"),
      note: t(lastEventAt ? "snippetDone" : "snippetNote"),
      action: { href: sitePath(siteId, "/connections"), label: actions("snippet") },
    },
    {
      key: "team",
      icon: Users,
      done: memberCount > 1,
      title: t(memberCount > 1 ? "teamHere" : "team"),
      note: memberCount > 1 ? t("teamDone", { count: memberCount }) : t("teamNote", { open: team.invitations.length }),
      action: { href: sitePath(siteId, "/members"), label: actions("invite") },
    },
    googleStep,
  ];
}

/** A script fetches conversions with a key. */
async function keyStep(siteId: SiteId): Promise<ReadyStep> {
  const [t, words, keys] = await Promise.all([getTranslations("ready"), getTranslations("apiKeys"), readPage(readApiKeys, siteId)]);
  const liveKeys = keys.filter((key) => !key.revokedAt).length;
  return {
    key: "apiKey",
    icon: KeyRound,
    done: liveKeys > 0,
    title: liveKeys > 0 ? t("apiKeyHere") : words("createTitle"),
    note: liveKeys > 0 ? t("apiKeyDone", { count: liveKeys }) : t("apiKeyNote"),
    action: { href: sitePath(siteId, "/connections"), label: words("create") },
  };
}

/** A site that sends by API needs a connection that Google accepts. */
async function connectionStep(siteId: SiteId): Promise<ReadyStep> {
  const [t, word, { connected, health }] = await Promise.all([
    getTranslations("ready"),
    getTranslations(),
    readPage(readConnection, siteId),
  ]);
  const state = !connected ? "missing" : health?.blocked ? "blocked" : "here";
  return {
    key: "googleAds",
    icon: Plug,
    done: state === "here",
    title: state === "here" ? word("kinds.connected") : t(`googleAds.${state}.title`),
    note: t(`googleAds.${state}.note`),
    action: {
      href: connectPath(siteId),
      label: word(({ missing: "googleAds.status.connect", blocked: "googleAds.status.reconnect", here: "actions.open" } as const)[state]),
    },
  };
}

/** Until the first lead: the list of what is left to do. No figure is invented. */
export async function OwnerSteps({ site }: { site: SiteSummary }) {
  const [t, nav, locale, steps] = await Promise.all([getTranslations("ready"), getTranslations("nav"), getLocale(), ownerSteps(site)]);
  return (
    <>
      <PageHeader title={nav("today")} note={siteFormat({ locale, timeZone: site.timezone }).weekday(new Date())} />
      <Page narrow>
        <GettingReady steps={steps} footer={t("footer")} />
      </Page>
    </>
  );
}
