"use client";

import { useLocale, useTranslations } from "next-intl";
import { Cell, Table } from "#components/ui/table.tsx";
import { siteFormat } from "#lib/i18n/site-format.ts";
import type { RetentionPeriods, SiteRetention } from "#lib/privacy/retention.ts";

interface KeptTableProps {
  periods: RetentionPeriods;
  retention: SiteRetention;
  timeZone: string;
}

/** What is kept, why and how long, and what was removed last. */
export function KeptTable({ periods, retention, timeZone }: KeptTableProps) {
  const t = useTranslations("personalData.kept");
  const format = siteFormat({ locale: useLocale(), timeZone });
  const months = (count: number) => t("months", { count });
  const days = (count: number) => t("days", { count });
  const upTo = (count: number) => t("upToDays", { count });
  const personal = months(Math.min(retention.personalMonths ?? periods.personalMonths, periods.personalMonths));
  const rows = [
    { kind: "visits", period: months(periods.eventsMonths), removed: ["events", "visits"] },
    { kind: "leads", period: personal, removed: ["leads"] },
    { kind: "sales", period: personal, removed: ["sales", "notes"] },
    { kind: "customerHashes", period: upTo(retention.keptDays.customerHashes), removed: [] },
    { kind: "choices", period: t("asVisits"), removed: [] },
    { kind: "handedOut", period: days(retention.keptDays.handedOut), removed: [] },
    { kind: "pageViews", period: upTo(periods.pageViewDays), removed: [] },
    { kind: "origins", period: days(retention.keptDays.origins), removed: [] },
    { kind: "failed", period: days(periods.failedDays), removed: ["captured"] },
    { kind: "ledger", period: t("always"), removed: [] },
  ] as const;
  const removedOf = (kinds: readonly string[]) => {
    const last = retention.removed.find(({ kind }) => kinds.includes(kind));
    if (!last) return null;
    const day = format.date(last.at);
    return last.rows === null ? t("removedAll", { day }) : t("removed", { day, count: last.rows });
  };
  const columns = [
    { key: "what", header: t("what"), width: "30%" },
    { key: "why", header: t("why") },
    { key: "long", header: t("howLong"), width: "150px" },
    // Until something was removed, the column would be empty.
    ...(retention.removed.length > 0 ? [{ key: "last", header: t("last"), width: "190px", priority: 2 as const }] : []),
  ];
  return (
    <Table label={t("title")} columns={columns}>
      {rows.map(({ kind, period, removed }) => (
        <tr key={kind}>
          <Cell at="main" roomy className="font-medium">
            {t(`rows.${kind}.what`)}
          </Cell>
          <Cell at="wide" roomy className="text-support text-pretty">
            {t(`rows.${kind}.why`)}
          </Cell>
          <Cell at="end" roomy>
            {period}
          </Cell>
          {retention.removed.length > 0 && (
            <Cell at="foot" priority={2} roomy className="text-meta">
              {removedOf(removed)}
            </Cell>
          )}
        </tr>
      ))}
    </Table>
  );
}
