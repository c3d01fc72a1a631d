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
  const t = useTranslations("sites");
  const roles = useTranslations("roles");
  const columns = [
    { key: "site", header: t("site") },
    { key: "role", header: t("role"), width: "132px" },
    { key: "currency", header: t("currency"), width: "96px", priority: 2 as const },
    { key: "timezone", header: t("timezone"), width: "176px", priority: 2 as const },
    { key: "open", header: t("open"), hidden: true, width: "48px" },
  ];
  return (
    <Table label={t("title")} columns={columns}>
      {sites.map((site) => (
        <tr key={site.publicId} className={cn("opens", site.archivedAt && "off")}>
          <Cell at="main" roomy>
            <div className="row row-3">
              <Avatar name={site.name} />
              <div className="grow">
                <Link href={sitePath(site.publicId)} className="row-link strong block two-lines">
                  {site.name}
                </Link>
                <span className="xs t3 clip block">{site.domains.join(", ")}</span>
              </div>
            </div>
          </Cell>
          <Cell at="end">{site.archivedAt ? <Tag icon={Archive}>{t("archived")}</Tag> : <Tag>{roles(site.role)}</Tag>}</Cell>
          <Cell at="desk" priority={2}>
            {site.currency}
          </Cell>
          <Cell at="desk" priority={2}>
            {site.timezone}
          </Cell>
          <Cell at="desk">
            <ChevronRight className="i t3" />
          </Cell>
        </tr>
      ))}
    </Table>
  );
}
