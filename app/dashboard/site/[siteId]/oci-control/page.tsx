import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { OciControl } from "#components/dashboard/oci-control/oci-control.tsx";
import { Clock } from "#components/workbench/live/clock.tsx";
import { readPage } from "#lib/auth/session.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { readControlPage } from "#lib/oci/queue/page.ts";
import { readView } from "#lib/oci/queue/view.ts";
import { getVersionedSite } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("nav");
  return { title: t("ociControl") };
}

interface OciControlPageProps {
  params: Promise<{ siteId: string }>;
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}

async function OciControlPage({ params, searchParams }: OciControlPageProps) {
  const [address, query] = await Promise.all([params, searchParams]);
  const given = Object.entries(query).flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : []));
  const site = await getVersionedSite(address.siteId, "queue");
  const now = new Date();
  const drawn = await readPage(readControlPage, site, readView(new URLSearchParams(given)), now);
  const { siteId, currency, timezone, ociSyncMethod, role, archivedAt, version } = site;
  return (
    <Clock at={now.toISOString()}>
      <OciControl
        site={{ siteId, currency, timezone, ociSyncMethod, role, isArchived: archivedAt !== null }}
        version={version}
        drawn={drawn}
      />
    </Clock>
  );
}

export default withMessages("dashboard/site/[siteId]/oci-control/page", OciControlPage);
