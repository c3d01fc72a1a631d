import { Archive, ChevronRight } from "lucide-react";
import Link from "next/link";
import { useTranslations } from "next-intl";
import { sitePath } from "#components/shell/nav-items.ts";
import { Avatar } from "#components/ui/avatar.tsx";
import { Tag } from "#components/ui/badge.tsx";
import { cn } from "#components/ui/cn.ts";
import { Cell, Table } from "#components/ui/table.tsx";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";

/** The reader's sites; the whole row opens one. */
export function SiteTable({ sites }: { sites: SiteSummary[] }) {
  const t = useTranslations();
  const roles = useTranslations("roles");
  const columns = [
    { key: "site", header: t("nav.site") },
    { key: "role", header: t("sites.role"), width: "132px" },
    { key: "currency", header: t("labels.currency"), width: "96px", priority: 2 as const },
    { key: "timezone", header: t("labels.timezone"), width: "176px", priority: 2 as const },
    { key: "open", header: t("actions.open"), hidden: true, width: "48px" },
  ];
  return (
    <Table label={t("nav.sites")} columns={columns}>
      {sites.map((site) => (
        <tr
          key={site.siteId}
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
                <span className="text-xs text-meta block truncate">{site.domains.join(", ")}</span>
              </div>
            </div>
          </Cell>
          <Cell at="end">{site.archivedAt ? <Tag icon={Archive}>{t("sites.archived")}</Tag> : <Tag>{roles(site.role)}</Tag>}</Cell>
          <Cell at="desk" priority={2}>
            {site.currency}
          </Cell>
          <Cell at="desk" priority={2}>
            {site.timezone}
          </Cell>
          <Cell at="desk">
            <ChevronRight className="text-meta" />
          </Cell>
        </tr>
      ))}
    </Table>
  );
}
