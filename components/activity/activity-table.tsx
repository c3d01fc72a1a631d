import {
  Archive,
  ArrowLeftRight,
  ArrowRight,
  CheckCheck,
  CreditCard,
  Download,
  Eraser,
  KeyRound,
  type LucideIcon,
  MailPlus,
  Pencil,
  Plug,
  Plus,
  RotateCw,
  Send,
  Settings,
  ShieldCheck,
  Shuffle,
  Stamp,
  StickyNote,
  Trash2,
  Undo2,
  Unplug,
  UserPen,
  Users,
  X,
} from "lucide-react";
import Link from "next/link";
import { useLocale, useTranslations } from "next-intl";
import { useStateWord } from "#components/contracts/use-state-word.ts";
import { leadPath, proofPath, rowPath, salePath } from "#components/shell/nav-items.ts";
import { downFirst, sortedColumn, upFirst } from "#components/ui/sort-link.tsx";
import { Cell } from "#components/ui/table.tsx";
import { LiveTable } from "#components/workbench/live/live-table.tsx";
import { leadChannels } from "#lib/channels.ts";
import type { ActivityEntry, ActivityFilter } from "#lib/contracts/activity.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";
import type { SiteId } from "#lib/site.ts";
import { ActChange, isAct } from "./act-change.tsx";

const icons: Record<ActivityEntry["kind"], LucideIcon> = {
  sealed: Stamp,
  corrected: Pencil,
  cancelled: X,
  undone: Undo2,
  junk: Trash2,
  stage: Shuffle,
  recorded: Plus,
  requeued: RotateCw,
  stopped: X,
  connected: Plug,
  disconnected: Unplug,
  switched: ArrowLeftRight,
  key: KeyRound,
  member: Users,
  invitation: MailPlus,
  secret: KeyRound,
  plan: CreditCard,
  consent: ShieldCheck,
  settings: Settings,
  delivery: Send,
  actions: Send,
  site: Archive,
  erased: Eraser,
  note: StickyNote,
  contact: UserPen,
  exported: Download,
  other: CheckCheck,
};

interface ActivityTableProps {
  siteId: SiteId;
  entries: ActivityEntry[];
  next: string | null;
  /** The filter and the page. */
  of: string;
  timeZone: string;
  /** Where the list is, with its filters, for the headings that sort it. */
  sort: { path: string; filter: ActivityFilter };
}

/** Who did what, with what was before and after. */
export function ActivityTable({ siteId, entries, next, of, timeZone, sort }: ActivityTableProps) {
  const t = useTranslations("activity");
  const word = useTranslations();
  const locale = useLocale();
  const { dateTime } = siteFormat({ locale, timeZone });
  const columns = [
    { key: "when", ...sortedColumn({ label: word("labels.when"), ...sort, orders: downFirst(undefined, "oldest") }), width: "160px" },
    { key: "who", ...sortedColumn({ label: word("labels.who"), ...sort, orders: upFirst("who", "who-z") }), width: "200px" },
    { key: "what", ...sortedColumn({ label: word("labels.what"), ...sort, orders: upFirst("what", "what-z") }), width: "30%" },
    { key: "change", header: t("change") },
    { key: "note", header: word("labels.note"), width: "22%", priority: 3 as const },
  ];
  const whoOf = ({ actorKind, actorName }: ActivityEntry) => {
    if (actorKind === "system") return t("system");
    if (actorName === null) return t("someone");
    return actorKind === "api_key" ? t("apiKey", { name: actorName }) : actorName;
  };
  const subjectOf = ({ channel, calledAt, externalRef }: ActivityEntry) => {
    const known = leadChannels.find((name) => name === channel);
    if (externalRef) return t("sale", { ref: externalRef });
    return known && calledAt ? t("lead_call", { channel: word(`channels.${known}`), date: dateTime(calledAt) }) : null;
  };
  const subjectLink = (entry: ActivityEntry) => {
    const { rowId, callId, saleId } = entry;
    const href = rowId ? rowPath(siteId, rowId) : callId ? leadPath(siteId, callId) : saleId ? salePath(siteId, saleId) : null;
    const subject = subjectOf(entry) ?? (rowId && word("kinds.CONVERSION"));
    if (!href || !subject) return subject;
    return (
      <Link className="link" href={href} prefetch={false}>
        {subject}
      </Link>
    );
  };
  const rowOf = (entry: ActivityEntry) => {
    const Icon = icons[entry.kind];
    return (
      <tr>
        <Cell at="end" className="text-meta">
          <Link className="link" href={proofPath(entry.id)} prefetch={false} title={t("proof")}>
            <time dateTime={entry.at}>{dateTime(entry.at)}</time>
          </Link>
        </Cell>
        <Cell at="sub" data-untranslated className="min-w-32 max-desk:truncate desk:wrap-anywhere" title={entry.actorName ?? undefined}>
          {whoOf(entry)}
        </Cell>
        <Cell at="main">
          <span className="flex min-w-0 items-center gap-2">
            <Icon className="size-3.5 shrink-0 text-meta" />
            <span className="font-medium">{word(`kinds.${entry.kind}`)}</span>
            <span className="min-w-0 truncate text-meta max-desk:hidden">{subjectLink(entry)}</span>
          </span>
        </Cell>
        <Cell
          at="meta"
          className={isAct(entry) ? "max-desk:col-span-full max-desk:col-start-1 max-desk:row-start-3 max-desk:text-left" : undefined}
        >
          {isAct(entry) ? <ActChange entry={entry} timeZone={timeZone} /> : <BeforeAfter entry={entry} timeZone={timeZone} />}
        </Cell>
        <Cell at="foot" priority={3} className="text-support max-desk:row-start-4" title={entry.note ?? undefined} data-untranslated>
          <span className="text-meta desk:hidden">
            {subjectLink(entry)}
            <span className="block">{entry.note}</span>
          </span>
          <span className="max-desk:hidden">{entry.note}</span>
        </Cell>
      </tr>
    );
  };
  return (
    <LiveTable
      label={word("nav.activity")}
      columns={columns}
      of={of}
      next={next}
      rows={entries.map((entry) => ({ id: entry.id, row: rowOf(entry) }))}
    />
  );
}

/** The states, and the amounts where money moved. */
function BeforeAfter({ entry, timeZone }: { entry: ActivityEntry; timeZone: string }) {
  const locale = useLocale();
  const { from, to, amountCents, amountBeforeCents, currency } = entry;
  const money = (cents: number) => siteFormat({ locale, timeZone, ...(currency && { currency }) }).money(cents);
  const stateOf = useStateWord();
  if (entry.contract === "lead") return null; // what was written is for operators, in the note
  const [before, after] =
    amountBeforeCents !== null && amountCents !== null
      ? [money(amountBeforeCents), money(amountCents)]
      : [from === null ? null : stateOf(from), stateOf(to)];
  return (
    <span className="inline-flex items-center gap-1.5">
      {before && (
        <>
          <span className="text-meta">{before}</span>
          <ArrowRight className="size-3.5 shrink-0 text-meta" aria-hidden="true" />
        </>
      )}
      <span>{after}</span>
      {amountBeforeCents === null && amountCents !== null && amountCents > 0 && <span className="font-semibold">{money(amountCents)}</span>}
    </span>
  );
}
