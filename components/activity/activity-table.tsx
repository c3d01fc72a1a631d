import {
  ArrowLeftRight,
  ArrowRight,
  CheckCheck,
  type LucideIcon,
  Pencil,
  Plug,
  Plus,
  RotateCw,
  Shuffle,
  Stamp,
  Trash2,
  Undo2,
  Unplug,
  X,
} from "lucide-react";
import { useLocale, useTranslations } from "next-intl";
import { Cell, Table } from "#components/ui/table.tsx";
import type { ActivityEntry } from "#lib/contracts/activity.ts";
import { siteFormat } from "#lib/i18n/site-format.ts";

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
  other: CheckCheck,
};
const channels = ["phone", "whatsapp", "form"] as const;

/** Who did what, with what was before and after. */
export function ActivityTable({ entries, timeZone }: { entries: ActivityEntry[]; timeZone: string }) {
  const t = useTranslations("activity");
  const words = useTranslations("sales");
  const locale = useLocale();
  const { dateTime } = siteFormat({ locale, timeZone });
  const columns = [
    { key: "when", header: t("when"), width: "160px" },
    { key: "who", header: t("who"), width: "170px" },
    { key: "what", header: t("what"), width: "30%" },
    { key: "change", header: t("change") },
    { key: "note", header: t("note"), width: "22%", priority: 3 as const },
  ];
  const whoOf = ({ actorKind, actorName }: ActivityEntry) => {
    if (actorKind === "system") return t("system");
    if (actorName === null) return t("someone");
    return actorKind === "api_key" ? t("apiKey", { name: actorName }) : actorName;
  };
  const subjectOf = ({ channel, calledAt, externalRef }: ActivityEntry) => {
    const known = channels.find((name) => name === channel);
    if (externalRef) return t("sale", { ref: externalRef });
    return known && calledAt ? t("lead_call", { channel: words(`channels.${known}`), date: dateTime(calledAt) }) : null;
  };
  return (
    <Table label={t("title")} columns={columns}>
      {entries.map((entry) => {
        const Icon = icons[entry.kind];
        return (
          <tr key={entry.id}>
            <Cell at="end" className="t3">
              <time dateTime={entry.at}>{dateTime(entry.at)}</time>
            </Cell>
            <Cell at="sub" data-untranslated>
              {whoOf(entry)}
            </Cell>
            <Cell at="main">
              <span className="row">
                <Icon className="i i-14 t3" />
                <span className="med">{t(`kinds.${entry.kind}`)}</span>
                <span className="t3 clip desk-only">{subjectOf(entry)}</span>
              </span>
            </Cell>
            <Cell at="meta">
              <BeforeAfter entry={entry} timeZone={timeZone} />
            </Cell>
            <Cell at="foot" priority={3} className="t2" title={entry.note ?? undefined} data-untranslated>
              <span className="phone-only t3">{[subjectOf(entry), entry.note].filter(Boolean).join(": ")}</span>
              <span className="desk-only">{entry.note}</span>
            </Cell>
          </tr>
        );
      })}
    </Table>
  );
}

/** The states, and the amounts where money moved. */
function BeforeAfter({ entry, timeZone }: { entry: ActivityEntry; timeZone: string }) {
  const t = useTranslations("activity");
  const locale = useLocale();
  const { from, to, amountCents, amountBeforeCents, currency } = entry;
  const money = (cents: number) => siteFormat({ locale, timeZone, ...(currency && { currency }) }).money(cents);
  const stateOf = (state: string) => {
    const key = `states.${state}` as Parameters<typeof t>[0]; // has() checks it before it is used
    return t.has(key) ? t(key) : state;
  };
  const [before, after] =
    amountBeforeCents !== null && amountCents !== null
      ? [money(amountBeforeCents), money(amountCents)]
      : [from === null ? null : stateOf(from), stateOf(to)];
  return (
    <span className="inline-flex items-center gap-1.5">
      {before && (
        <>
          <span className="t3">{before}</span>
          <ArrowRight className="i i-14 t3" aria-hidden="true" />
        </>
      )}
      <span>{after}</span>
      {amountBeforeCents === null && amountCents !== null && amountCents > 0 && <span className="strong">{money(amountCents)}</span>}
    </span>
  );
}
