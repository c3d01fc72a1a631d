import type { Metadata } from "next";
import { getTranslations } from "next-intl/server";
import { Desk } from "#components/desk/desk.tsx";
import { type ChartSpan, parseFigure, parseSpan } from "#components/desk/figures/figure-list.ts";
import { SetupLine } from "#components/setup/setup-card.tsx";
import { Clock } from "#components/workbench/live/clock.tsx";
import { readPage } from "#lib/auth/session.ts";
import { withMessages } from "#lib/i18n/with-messages.tsx";
import { type DeskFilter, deskFilter } from "#lib/leads/desk-filter.ts";
import { findLead, readAmountPresets, readDeskPage, readFigures } from "#lib/leads/desk-readers.ts";
import type { SiteId } from "#lib/site.ts";
import { getVersionedSite } from "#lib/tenancy/readers.ts";
import { hasRole } from "#lib/tenancy/site-roles.ts";
import { readSiteSetup } from "#lib/tenancy/site-setup.ts";
import { OwnerSteps } from "./owner-steps.tsx";

interface TodayProps {
  params: Promise<{ siteId: string }>;
  searchParams: Promise<Record<string, string | string[] | undefined>>;
}

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations("nav");
  return { title: t("today") };
}

const isId = (text: unknown): text is string => typeof text === "string" && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

/** Everything that the page shows, the lead in view included. */
async function readDesk(siteId: SiteId, filter: DeskFilter, { named, span }: { named: unknown; span: ChartSpan }) {
  const [page, figures, presets, namedLead] = await Promise.all([
    readPage(readDeskPage, siteId, filter),
    readPage(readFigures, siteId, span),
    readPage(readAmountPresets, siteId),
    isId(named) ? readPage(findLead, siteId, named) : null,
  ]);
  const today = page.leads.find(({ needsYou }) => needsYou === null) ?? page.needsYou[0] ?? page.leads[0];
  const first = namedLead ?? (today ? await readPage(findLead, siteId, today.id) : null);
  return { page, figures, presets, first, isLeadMissing: named !== undefined && namedLead === null };
}

/** Today: the leads, what they need, and what came of them. Before the first lead, owners see what is left to do. */
async function TodayPage({ params, searchParams }: TodayProps) {
  const [{ siteId }, { lead, figure, days, ...query }] = await Promise.all([params, searchParams]);
  const filter = deskFilter.parse(query);
  const site = await getVersionedSite(siteId, "leads");
  const [desk, setup] = await Promise.all([
    readDesk(site.siteId, filter, { named: lead, span: parseSpan(days) }),
    site.role === "owner" && site.archivedAt === null ? readPage(readSiteSetup, site.siteId) : null,
  ]);
  if (!desk.figures.hasLeads && setup) return <OwnerSteps site={site} setup={setup} />;
  return (
    <Clock at={desk.page.asOf}>
      {setup && (
        <div className="my-3 empty:hidden">
          <SetupLine siteId={site.siteId} setup={setup} />
        </div>
      )}
      <Desk
        {...desk}
        site={{
          siteId: site.siteId,
          timezone: site.timezone,
          currency: site.currency,
          version: site.version,
          canAct: hasRole(site.role, "operator") && site.archivedAt === null,
          mayInstall: site.role === "owner",
        }}
        filter={filter}
        figure={parseFigure(figure)}
      />
    </Clock>
  );
}

export default withMessages("dashboard/site/[siteId]/(today)/page", TodayPage);
