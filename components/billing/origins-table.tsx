import { useLocale, useTranslations } from "next-intl";
import { Cell, Table } from "#components/ui/table.tsx";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { UsageOrigins } from "#lib/billing/billing-shapes.ts";

/** The page shows the largest; the file has all of them. */
export const originsShown = 50;

const families = ["chrome", "safari", "firefox", "edge", "opera", "samsung", "other", "system"] as const;

/** Where a day's units came from, each with its share of the day as a bar. */
export function OriginsTable({ origins, units, waiting }: UsageOrigins) {
  const t = useTranslations("billing.origins");
  const word = useTranslations();
  const format = billingFormat(useLocale());
  const shareOf = (part: number) => part / Math.max(1, units);
  const browserOf = (browser: string) => {
    const family = families.find((name) => name === browser);
    return family ? t(`browsers.${family}`) : word("states.UNKNOWN");
  };
  const rows = [
    ...origins.slice(0, originsShown).map(({ network, browser, units: part }) => ({
      key: `${network} ${browser}`,
      range: network === "" ? (browser === "system" ? t("signed") : word("states.UNKNOWN")) : network,
      isRange: network !== "",
      browser: browserOf(browser),
      part,
    })),
    ...(waiting > 0 ? [{ key: "waiting", range: t("waiting"), isRange: false, browser: "", part: waiting }] : []),
  ];
  return (
    <Table
      label={t("title")}
      columns={[
        { key: "range", header: t("range") },
        { key: "browser", header: t("browser"), width: "22%" },
        { key: "units", header: t("units"), width: "110px", align: "end" },
        { key: "share", header: t("share"), width: "34%", className: "desk:pl-6" },
      ]}
    >
      {rows.map(({ key, range, isRange, browser, part }) => (
        <tr key={key}>
          <Cell at="main" className={isRange ? "id" : undefined} {...(isRange && { "data-untranslated": true })}>
            {range}
          </Cell>
          <Cell at="sub">{browser}</Cell>
          <Cell at="end" align="end" className="font-medium">
            {format.number(part)}
          </Cell>
          <Cell at="foot" className="desk:pl-6">
            <span className="flex items-center gap-2">
              <span className="h-2 min-w-0 flex-1 rounded-sm bg-surface-3">
                <span className="block h-2 rounded-sm bg-accent-mark" style={{ width: `${100 * shareOf(part)}%` }} />
              </span>
              <span className="w-11 text-right text-xs text-meta">{format.percent(shareOf(part))}</span>
            </span>
          </Cell>
        </tr>
      ))}
    </Table>
  );
}
