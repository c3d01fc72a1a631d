import { Download, History } from "lucide-react";
import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { ActivityTable } from "#components/activity/activity-table.tsx";
import { DownloadLink } from "#components/billing/download-link.tsx";
import { sitePath } from "#components/shell/nav-items.ts";
import { ButtonLink } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { Page } from "#components/ui/page.tsx";
import { PageHeader } from "#components/ui/page-header.tsx";
import { filteredPath, PageLinks } from "#components/ui/page-links.tsx";
import { FilterRow } from "#components/workbench/filter/filter-row.tsx";
import { LiveMark } from "#components/workbench/live/live-mark.tsx";
import { readPage } from "#lib/auth/session.ts";
import { activityFilter, activityKinds, activitySorts, ownerKinds, readActivity } from "#lib/contracts/activity.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { getVersionedSite } from "#lib/tenancy/readers.ts";

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("nav");
  return { title: t("activity") };
}

interface ActivityPageProps {
  params: Promise<{ siteId: string }>;
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}

async function ActivityPage({ params, searchParams }: ActivityPageProps) {
  const site = await getVersionedSite((await params).siteId, "activity");
  const filter = activityFilter.parse(await searchParams);
  const [t, word, { entries, actors, next, total }] = await Promise.all([
    getTranslations("activity"),
    getTranslations(),
    readPage(readActivity, site.siteId, filter),
  ]);
  const path = sitePath(site.siteId, "/activity");
  const filtered = Boolean(filter.actor ?? filter.kind ?? filter.q ?? filter.from ?? filter.to ?? filter.day);
  const today = new Intl.DateTimeFormat("sv-SE", { timeZone: site.timezone }).format(new Date());
  const { cursor: _, ...kept } = filter;
  return (
    <>
      <PageHeader title={word("nav.activity")} note={total ? `${t("lead")} · ${t("total", { count: total })}` : t("lead")}>
        <LiveMark siteId={site.siteId} of="activity" version={site.version} />
        <DownloadLink href={filteredPath(`/api/sites/${site.siteId}/activity`, kept)} fileName="activity.csv">
          <Download className="size-3.5" />
          {word("actions.csv")}
        </DownloadLink>
      </PageHeader>
      <Page>
        <FilterRow
          fields={[
            { key: "q", kind: "text", label: word("oci.keys.search") },
            {
              key: "actor",
              kind: "choice",
              label: word("labels.who"),
              options: actors.map(({ id, name }) => ({ value: id, label: name })),
            },
            {
              key: "kind",
              kind: "choice",
              label: word("labels.what"),
              options: [...activityKinds, ...(site.role === "owner" ? ownerKinds : [])].map((value) => ({
                value,
                label: word(`kinds.${value}`),
              })),
            },
            { key: "from", kind: "day", label: word("desk.filter.from"), max: filter.to ?? today },
            { key: "to", kind: "day", label: word("desk.filter.to"), max: today },
            {
              key: "sort",
              kind: "choice",
              label: word("filters.sort"),
              any: word("sales.sorts.newest"),
              options: activitySorts.map((value) => ({
                value,
                label: value === "oldest" ? word("sales.sorts.oldest") : t(`sorts.${value}`),
              })),
            },
          ]}
        />
        <Card aria-label={word("nav.activity")}>
          {entries.length > 0 ? (
            <ActivityTable
              siteId={site.siteId}
              entries={entries}
              next={next}
              of={JSON.stringify(filter)}
              timeZone={site.timezone}
              sort={{ path, filter: kept }}
            />
          ) : (
            <EmptyState
              icon={History}
              title={filtered ? t("noneFiltered") : t("none")}
              action={filtered && <ButtonLink href={path}>{word("actions.clearFilters")}</ButtonLink>}
            >
              {filtered ? "" : t("noneBody")}
            </EmptyState>
          )}
        </Card>
        <PageLinks path={path} filter={filter} next={next} />
      </Page>
    </>
  );
}

export default withMessages("dashboard/site/[siteId]/activity/page", ActivityPage);
