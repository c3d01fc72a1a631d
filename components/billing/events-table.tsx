import Link from "next/link";
import { useLocale, useTranslations } from "next-intl";
import { Cell, Table } from "#components/ui/table.tsx";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { CountedEvents } from "#lib/billing/billing-shapes.ts";

/** Every billed event, as it stands in the ledger and in the file. */
export function EventsTable({ events }: { events: CountedEvents["events"] }) {
  const t = useTranslations("billing.events");
  const format = billingFormat(useLocale());
  const columns = [
    { key: "time", header: t("time"), width: "210px" },
    { key: "event", header: t("event"), width: "30%" },
    { key: "key", header: t("key") },
  ];
  return (
    <Table label={t("title")} columns={columns}>
      {events.map(({ at, name, key }) => (
        <tr key={key}>
          <Cell at="sub">{format.instant(at)}</Cell>
          <Cell at="main" className="med" data-untranslated>
            {name}
          </Cell>
          <Cell at="desk" className="id t3" title={key}>
            {key}
          </Cell>
        </tr>
      ))}
    </Table>
  );
}

/** The months whose events are still kept: this one and three before it. */
export function MonthChoice({ months, chosen, hrefOf }: { months: string[]; chosen: string; hrefOf: (month: string) => string }) {
  const t = useTranslations("billing.events");
  const format = billingFormat(useLocale());
  return (
    <nav className="seg" aria-label={t("month")}>
      {months.map((month) => (
        <Link key={month} href={hrefOf(month)} aria-current={month === chosen ? "page" : undefined}>
          {format.monthName(month)}
        </Link>
      ))}
    </nav>
  );
}
