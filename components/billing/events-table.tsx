import Link from "next/link";
import { useLocale, useTranslations } from "next-intl";
import { Segments } from "#components/ui/segmented.tsx";
import { Cell } from "#components/ui/table.tsx";
import { LiveTable } from "#components/workbench/live/live-table.tsx";
import { billingFormat } from "#lib/billing/billing-format.ts";
import type { CountedEvents } from "#lib/billing/billing-shapes.ts";
import { channelOf, isLeadAction } from "#lib/channels.ts";

/** What the tracker reports by itself besides leads. */
const seenActs = ["scroll_depth", "hover_intent"] as const;

/** Every billed event, as it stands in the ledger and in the file. */
export function EventsTable({ events, next, of }: Pick<CountedEvents, "events" | "next"> & { of: string }) {
  const t = useTranslations("billing.events");
  const word = useTranslations();
  const format = billingFormat(useLocale());
  const columns = [
    { key: "time", header: t("time"), width: "210px" },
    { key: "event", header: t("event"), width: "30%" },
    { key: "key", header: t("key") },
  ];
  /** What the visitor did; a name that a site made up has no other. */
  const wordOf = (name: string) => {
    const act = name.slice(name.indexOf("/") + 1);
    if (isLeadAction(act)) return word(`channels.${channelOf[act]}`);
    if (act === "view") return word("delivery.nameKeys.page_view");
    const seen = seenActs.find((known) => known === act);
    return seen && t(`acts.${seen}`);
  };
  const rows = events.map(({ at, name, key }) => ({
    id: key,
    row: (
      <tr>
        <Cell at="sub">{format.instant(at)}</Cell>
        <Cell at="main">
          {wordOf(name) && <span className="mr-2 font-medium">{wordOf(name)}</span>}
          <span className="text-meta" data-untranslated>
            {name}
          </span>
        </Cell>
        <Cell at="desk" className="id text-meta" title={key}>
          {key}
        </Cell>
      </tr>
    ),
  }));
  return <LiveTable label={t("title")} columns={columns} of={of} next={next} rows={rows} />;
}

/** The months whose events are still kept: this one and three before it. */
export function MonthChoice({ months, chosen, hrefOf }: { months: string[]; chosen: string; hrefOf: (month: string) => string }) {
  const t = useTranslations();
  const format = billingFormat(useLocale());
  return (
    <Segments as="nav" className="flex-wrap" aria-label={t("labels.month")}>
      {months.map((month) => (
        <Link key={month} href={hrefOf(month)} aria-current={month === chosen ? "page" : undefined}>
          {format.monthName(month)}
        </Link>
      ))}
    </Segments>
  );
}
