"use client";

import { Archive, ArrowDown, ArrowUp } from "lucide-react";
import Link from "next/link";
import { useLocale, useTranslations } from "next-intl";
import { useId, useState } from "react";
import { sitePath } from "#components/shell/nav-items.ts";
import { Avatar } from "#components/ui/avatar.tsx";
import { Tag } from "#components/ui/badge.tsx";
import { cn } from "#components/ui/cn.ts";
import { Input } from "#components/ui/input.tsx";
import { Select } from "#components/ui/select.tsx";
import { Cell, Table } from "#components/ui/table.tsx";
import { TimeAgo } from "#components/ui/time.tsx";
import { Spark } from "#components/workbench/chart/spark.tsx";
import { folded } from "#lib/i18n/folded.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";
import type { SiteFigures } from "#lib/tenancy/sites-overview.ts";

type Row = SiteSummary & { figures: SiteFigures | null };

const sealedOf = ({ figures }: Row) => figures?.sealedByDay.reduce((sum, cents) => sum + cents, 0) ?? 0;

/** By what the list can be sorted; numbers come largest first. */
const sortKeys = {
  name: () => 0,
  lastEvent: ({ figures }: Row) => Date.parse(figures?.lastEventAt ?? "") || 0,
  leads: ({ figures }: Row) => figures?.leadsToday ?? 0,
  sealed: sealedOf,
  waiting: ({ figures }: Row) => figures?.waiting ?? 0,
  failed: ({ figures }: Row) => figures?.failed ?? 0,
  needsYou: ({ figures }: Row) => figures?.needsYou ?? 0,
} as const;
type SortKey = keyof typeof sortKeys;
const keys: readonly SortKey[] = ["name", "lastEvent", "leads", "sealed", "waiting", "failed", "needsYou"];

/** From so many sites on a search is quicker than a look. */
const searchFrom = 6;

interface SiteTableProps {
  sites: SiteSummary[];
  figures: SiteFigures[];
}

/** The reader's sites with what matters today; the whole row opens one. */
export function SiteTable({ sites, figures }: SiteTableProps) {
  const t = useTranslations();
  const locale = useLocale();
  const sortId = useId();
  const [wanted, setWanted] = useState("");
  const [sort, setSort] = useState<{ key: SortKey; isUp: boolean }>({ key: "name", isUp: true });
  const byId = new Map(figures.map((each) => [each.siteId, each]));
  const text = folded(wanted.trim());
  const shown = sites
    .map((site): Row => ({ ...site, figures: byId.get(site.siteId) ?? null }))
    .filter(({ name, domains }) => folded([name, ...domains].join(" ")).includes(text))
    .toSorted((one, other) => {
      const archived = Number(one.archivedAt !== null) - Number(other.archivedAt !== null);
      const order = sort.key === "name" ? one.name.localeCompare(other.name, locale) : sortKeys[sort.key](one) - sortKeys[sort.key](other);
      return archived || (sort.isUp ? order : -order);
    });
  const names: Record<SortKey, string> = {
    name: t("nav.site"),
    lastEvent: t("sites.lastEvent"),
    leads: t("sites.leadsToday"),
    sealed: t("sites.sealed"),
    waiting: t("states.waiting"),
    failed: t("states.FAILED"),
    needsYou: t("desk.list.needsYou"),
  };
  const sortBy = (key: SortKey) => setSort({ key, isUp: sort.key === key ? !sort.isUp : key === "name" });
  const column = (key: SortKey) => {
    const isBy = sort.key === key;
    const Icon = sort.isUp ? ArrowUp : ArrowDown;
    return {
      key,
      sorted: isBy ? (sort.isUp ? ("ascending" as const) : ("descending" as const)) : undefined,
      header: (
        <button type="button" className="inline-flex items-center gap-1 hover:text-content" onClick={() => sortBy(key)}>
          {names[key]}
          {isBy && <Icon className="size-3" aria-hidden="true" />}
        </button>
      ),
    };
  };
  const columns = [
    column("name"),
    { ...column("lastEvent"), width: "120px", priority: 3 as const },
    { ...column("leads"), width: "100px", align: "end" as const },
    { ...column("sealed"), width: "180px", align: "end" as const },
    { ...column("waiting"), width: "84px", align: "end" as const, priority: 2 as const },
    { ...column("failed"), width: "84px", align: "end" as const, priority: 2 as const },
    { key: "health", header: t("sites.health"), width: "170px", priority: 3 as const },
    { ...column("needsYou"), width: "100px", align: "end" as const },
  ];
  return (
    <>
      {sites.length > 1 && (
        <div className={cn("grid gap-2 border-line-1 border-b p-3", sites.length < searchFrom && "desk:hidden")}>
          {sites.length >= searchFrom && (
            <Input
              type="search"
              className="desk:max-w-80"
              aria-label={t("sites.search")}
              placeholder={t("sites.search")}
              value={wanted}
              onChange={(event) => setWanted(event.target.value)}
            />
          )}
          {/* A phone has no headings to press. */}
          <div className="flex items-center gap-2 text-sm desk:hidden">
            <label htmlFor={sortId} className="text-meta">
              {t("filters.sort")}
            </label>
            <Select id={sortId} className="flex-1" value={sort.key} onChange={({ target }) => sortBy(keys[target.selectedIndex] ?? "name")}>
              {keys.map((key) => (
                <option key={key} value={key}>
                  {names[key]}
                </option>
              ))}
            </Select>
          </div>
        </div>
      )}
      <Table label={t("nav.sites")} columns={columns}>
        {shown.map((site) => (
          <SiteRow key={site.siteId} site={site} />
        ))}
      </Table>
      {shown.length === 0 && <p className="p-4 text-sm text-meta">{t("sites.noneFound")}</p>}
    </>
  );
}

function SiteRow({ site }: { site: Row }) {
  const t = useTranslations("sites");
  const roles = useTranslations("roles");
  const desk = useTranslations("desk.list");
  const states = useTranslations("states");
  const locale = useLocale();
  const { figures, currency, timezone: timeZone } = site;
  const format = siteFormat({ locale, timeZone, currency });
  const number = (value: number | undefined) => (value === undefined ? "–" : format.number(value));
  return (
    <tr
      className={cn(
        "relative hover:bg-surface-2 has-focus-visible:outline-2 has-focus-visible:-outline-offset-2 has-focus-visible:outline-focus",
        site.archivedAt && "text-meta",
      )}
    >
      <Cell at="main" roomy>
        <div className="flex min-w-0 items-center gap-3">
          <Avatar name={site.name} />
          <div className="min-w-0 flex-1">
            <Link
              href={sitePath(site.siteId)}
              className="line-clamp-2 font-semibold wrap-anywhere outline-none after:absolute after:inset-0"
            >
              {site.name}
            </Link>
            <span className="block truncate text-xs text-meta">{`${site.domains.join(", ")} · ${roles(site.role)}`}</span>
          </div>
        </div>
      </Cell>
      <Cell at="desk" priority={3} className="text-support">
        {figures?.lastEventAt ? <TimeAgo value={figures.lastEventAt} timeZone={timeZone} /> : "–"}
      </Cell>
      <Cell at="wide" align="end" className="max-desk:text-left max-desk:text-meta">
        <span className="desk:hidden">{t("leadsToday")} </span>
        {number(figures?.leadsToday)}
      </Cell>
      <Cell at="wide" align="end" className="max-desk:row-start-3 max-desk:text-left max-desk:text-meta">
        <span className="desk:hidden">{t("sealed")} </span>
        <span className="inline-flex items-center justify-end gap-2">
          {figures && <Spark values={figures.sealedByDay} className="h-4 w-16 max-desk:hidden" />}
          <span className="font-medium">{figures ? format.money(sealedOf(site)) : "–"}</span>
        </span>
      </Cell>
      <Cell at="desk" align="end" priority={2}>
        {number(figures?.waiting)}
      </Cell>
      <Cell at="desk" align="end" priority={2} className={figures?.failed ? "font-medium text-failed" : undefined}>
        {number(figures?.failed)}
      </Cell>
      <Cell at="foot" priority={3} roomy className="max-desk:row-start-4">
        <Health figures={figures} timeZone={timeZone} />
        {figures && (
          <span className="block text-meta desk:hidden">
            {`${states("waiting")} ${number(figures.waiting)} · `}
            <span
              className={figures.failed ? "font-medium text-failed" : undefined}
            >{`${states("FAILED")} ${number(figures.failed)}`}</span>
          </span>
        )}
      </Cell>
      <Cell at="end" align="end" className={figures?.needsYou ? "font-semibold text-retry" : undefined}>
        {site.archivedAt ? (
          <Tag icon={Archive}>{t("archived")}</Tag>
        ) : (
          <>
            <span className="desk:hidden">{desk("needsYou")} </span>
            {number(figures?.needsYou)}
          </>
        )}
      </Cell>
    </tr>
  );
}

const healthTones: Record<SiteFigures["health"]["code"], string> = {
  WELL: "text-completed",
  PAUSED: "text-blocked",
  NO_KEY: "text-retry",
  NEVER_RAN: "text-retry",
  SILENT: "text-retry",
  CIRCUIT: "text-retry",
  FAILED: "text-failed",
  NOT_CONNECTED: "text-failed",
  BLOCKED: "text-failed",
};

/** How the script or the API stands, in a few words. */
function Health({ figures, timeZone }: { figures: SiteFigures | null; timeZone: string }) {
  const t = useTranslations("sites.healths");
  const states = useTranslations("states");
  const { dateTime } = siteFormat({ locale: useLocale(), timeZone });
  if (!figures) return null;
  const { way, code, at } = figures.health;
  return (
    <span className={cn("text-sm", healthTones[code])} title={at ? dateTime(at) : undefined}>
      {`${states(way)}: ${t(code)}`}
    </span>
  );
}
