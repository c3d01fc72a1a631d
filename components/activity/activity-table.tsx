import {
  Archive,
  ArrowLeftRight,
  ArrowRight,
  CheckCheck,
  CreditCard,
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
  Trash2,
  Undo2,
  Unplug,
  Users,
  X,
} from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { useStateWord } from "#components/contracts/use-state-word.ts";
import { Cell } from "#components/ui/table.tsx";
import { LiveTable } from "#components/workbench/live/live-table.tsx";
import { leadChannels } from "#lib/channels.ts";
import type { ActivityEntry } from "#lib/contracts/activity.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";
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
  other: CheckCheck,
};

interface ActivityTableProps {
  entries: ActivityEntry[];
  next: string | null;
  /** The filter and the page. */
  of: string;
  timeZone: string;
}

/** Who did what, with what was before and after. */
export function ActivityTable({ entries, next, of, timeZone }: ActivityTableProps) {
  const t = useTranslations("activity");
  const word = useTranslations();
  const locale = useLocale();
  const { dateTime } = siteFormat({ locale, timeZone });
  const columns = [
    { key: "when", header: word("labels.when"), width: "160px" },
    { key: "who", header: word("labels.who"), width: "200px" },
    { key: "what", header: word("labels.what"), width: "30%" },
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
  const rowOf = (entry: ActivityEntry) => {
    const Icon = icons[entry.kind];
    return (
      <tr>
        <Cell at="end" className="text-meta">
          <time dateTime={entry.at}>{dateTime(entry.at)}</time>
        </Cell>
        <Cell at="sub" data-untranslated className="min-w-32 wrap-anywhere" title={entry.actorId ?? undefined}>
          {whoOf(entry)}
        </Cell>
        <Cell at="main">
          <span className="flex min-w-0 items-center gap-2">
            <Icon className="size-3.5 shrink-0 text-meta" />
            <span className="font-medium">{word(`kinds.${entry.kind}`)}</span>
            <span className="min-w-0 truncate text-meta max-desk:hidden">{subjectOf(entry)}</span>
          </span>
        </Cell>
        <Cell at="meta">{isAct(entry) ? <ActChange entry={entry} /> : <BeforeAfter entry={entry} timeZone={timeZone} />}</Cell>
        <Cell at="foot" priority={3} className="text-support" title={entry.note ?? undefined} data-untranslated>
          <span className="text-meta desk:hidden">{[subjectOf(entry), entry.note].filter(Boolean).join(": ")}</span>
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
