"use client";

import { Inbox, SearchX } from "lucide-react";
import { useTranslations } from "next-intl";
import { type RefObject, useMemo, useRef } from "react";
import { sitePath } from "#components/shell/nav-items.ts";
import { Button, ButtonLink } from "#components/ui/button.tsx";
import { Card } from "#components/ui/card.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import { isListTouched } from "#components/workbench/live/is-list-touched.ts";
import { NewRows } from "#components/workbench/live/new-rows.tsx";
import { useDetail } from "#components/workbench/live/use-detail.ts";
import { focusedRow, focusRow, stepFocus } from "#components/workbench/row-focus.ts";
import { type Shortcut, ShortcutsDialog, useShortcuts } from "#components/workbench/shortcuts.tsx";
import type { Address } from "#components/workbench/use-address.ts";
import { useSelection } from "#components/workbench/use-selection.ts";
import type { QueueCharts } from "#lib/oci/queue/charts.ts";
import type { QueueTabData } from "#lib/oci/queue/page.ts";
import { asksSomebody } from "#lib/oci/queue/row-state.ts";
import type { QueueStats } from "#lib/oci/queue/stats.ts";
import { apiFilter, type ControlView, countOf, filterCount, type ViewFilter, type viewStates } from "#lib/oci/queue/view.ts";
import type { QueueAction, QueueSort } from "#lib/oci/queue-types.ts";
import { SkippedDialog } from "./actions/skipped-dialog.tsx";
import { CausesCard } from "./cards/causes-card.tsx";
import { DeliveryCard } from "./cards/delivery-card.tsx";
import { fetchStory } from "./control-api.ts";
import { useControl } from "./control-context.tsx";
import { RowDrawer } from "./drawer/row-drawer.tsx";
import { OciControlBulkActions } from "./oci-control-bulk-actions.tsx";
import { OciControlFilters } from "./oci-control-filters.tsx";
import { OciControlSummary } from "./oci-control-summary.tsx";
import { OciControlTable } from "./oci-control-table.tsx";
import { useQueueRows } from "./table/use-queue-rows.ts";
import { Warnings } from "./warnings.tsx";

interface QueueTabProps {
  drawn: QueueTabData;
  version: string;
  address: Address<ControlView>;
  isHelping: boolean;
  onHelp: (isOpen: boolean) => void;
}

/** Warnings, figures, causes, and the list with its filters; a row's story opens beside it. */
export function QueueTab({ drawn, version, address, isHelping, onHelp }: QueueTabProps) {
  const t = useTranslations("oci.table");
  const { site, stats, mayAct, actions } = useControl();
  const { view } = address;
  const { charts } = drawn;
  // Rows closed on purpose are not failures.
  const failures = charts.failedNow.filter(({ category }) => category !== "DETERMINISTIC_SKIP");
  const search = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLElement>(null);
  const isInUse = useRef(false);
  const rows = useQueueRows(drawn, { view, isTouched: () => isInUse.current || isListTouched(list.current) });
  const selection = useSelection(rows.rows);
  isInUse.current = view.row !== null || !selection.isEmpty;
  const open = rows.rows.find(({ id }) => id === view.row) ?? null;
  const given = useMemo(() => drawn.story && { id: drawn.story.row.id, value: drawn.story }, [drawn.story]);
  const story = useDetail({ id: view.row, given, version, read: (id) => fetchStory(site.siteId, id) });

  const actOn = (action: QueueAction, filter: ViewFilter) => actions.actOnMatching(action, apiFilter(filter, new Date()));
  const act = (action: QueueAction) => (selection.isMatching ? actOn(action, view.filter) : actions.act(action, selection.rows, true));
  const close = () => {
    address.close({ row: null });
    if (view.row) focusRow(view.row);
  };
  const step = (by: 1 | -1) => {
    const id = stepFocus(by, view.row);
    if (id && view.row) address.slide({ row: id });
  };
  const retryHere = () => {
    const here = rows.rows.find(({ id }) => id === (view.row ?? focusedRow()));
    if (!selection.isEmpty) act("RETRY_SELECTED");
    else if (here) actions.act("RETRY_SELECTED", [here]);
  };
  const tickHere = () => {
    const id = focusedRow() ?? view.row;
    if (id) selection.toggle(id, false);
  };
  const shortcuts = useShortcutTable({ search, step, tickHere, retryHere, letGo: view.row ? close : selection.clear, onHelp });
  useShortcuts(shortcuts);
  const sortBy = (sort: QueueSort) => address.adjust({ sort });
  const searchFor = (q: string) => {
    const { q: _, ...rest } = view.filter;
    address.adjust({ filter: q ? { ...rest, q } : rest, row: null });
  };
  return (
    <>
      <Warnings />
      <OciControlSummary filter={view.filter} />
      <div className="grid grid-cols-[minmax(0,1.25fr)_minmax(0,1fr)] gap-3 @max-[621px]/main:grid-cols-1">
        <CausesCard causes={needsYouFirst(failures)} filter={view.filter} onRetry={(group) => actOn("RETRY_SELECTED", group)} />
        <DeliveryCard charts={charts} range={view.range} onRange={(range) => address.adjust({ range })} />
      </div>
      <Card ref={list} aria-label={t("label")} aria-busy={address.isTurning || rows.isLoading}>
        <OciControlFilters filter={view.filter} codes={failures} sort={view.sort} search={search} onSearch={searchFor} onSort={sortBy} />
        <NewRows count={rows.waiting.length} onShow={rows.showNewest}>
          {t("newRows", { count: rows.waiting.length })}
        </NewRows>
        {rows.rows.length === 0 ? (
          <Nothing filter={view.filter} />
        ) : (
          <>
            <OciControlTable rows={rows.rows} sort={view.sort} onSort={sortBy} openId={view.row} selection={selection} />
            <div className="flex min-h-12 items-center justify-center border-t border-line-1 text-sm text-meta">
              {rows.next ? (
                <Button size="sm" aria-busy={rows.isLoading} onClick={rows.loadMore}>
                  {t("loadMore")}
                </Button>
              ) : (
                t("end", { count: rows.rows.length })
              )}
            </div>
          </>
        )}
      </Card>
      {mayAct && !actions.run && (
        <OciControlBulkActions
          selection={selection}
          matchingCount={countMatching(view.filter, stats)}
          hasMore={rows.next !== null}
          onAct={act}
        />
      )}
      {view.row && (
        <RowDrawer
          key={view.row}
          row={open}
          story={story.value}
          isFailed={story.isFailed}
          sameCause={failures.find(({ code }) => code === open?.providerErrorCode)?.count ?? 1}
          onStep={open ? step : null}
          onClose={close}
        />
      )}
      <SkippedDialog rows={rows.rows} />
      <ShortcutsDialog table={shortcuts} open={isHelping} onOpenChange={onHelp} />
    </>
  );
}

interface Deeds {
  search: RefObject<HTMLInputElement | null>;
  step: (by: 1 | -1) => void;
  tickHere: () => void;
  retryHere: () => void;
  letGo: () => void;
  onHelp: (isOpen: boolean) => void;
}

function useShortcutTable({ search, step, tickHere, retryHere, letGo, onHelp }: Deeds): Shortcut[] {
  const t = useTranslations("oci.keys");
  const word = useTranslations();
  const { mayAct, actions } = useControl();
  return [
    { keys: "/", label: t("search"), does: { "/": () => search.current?.focus() } },
    { keys: "j k", label: t("move"), does: { j: () => step(1), k: () => step(-1) } },
    { keys: "Enter", label: t("open") },
    ...(mayAct
      ? [
          { keys: "x", label: t("select"), does: { x: tickHere } },
          { keys: "r", label: word("actions.retry"), does: { r: retryHere } },
          { keys: "u", label: t("undo"), does: { u: actions.undo } },
        ]
      : []),
    { keys: "Esc", label: t("close"), does: { Escape: letGo } },
    { keys: "?", label: t("help"), does: { "?": () => onHelp(true) } },
  ];
}

function Nothing({ filter }: { filter: ViewFilter }) {
  const t = useTranslations("oci.empty");
  const word = useTranslations();
  const { site, filterBy } = useControl();
  if (Object.keys(filter).length === 0)
    return (
      <EmptyState icon={Inbox} title={t("never")} action={<ButtonLink href={sitePath(site.siteId)}>{t("toToday")}</ButtonLink>}>
        {t("neverBody")}
      </EmptyState>
    );
  return (
    <EmptyState icon={SearchX} title={t("noMatch")} action={<Button onClick={() => filterBy({})}>{word("actions.clearFilters")}</Button>}>
      {filter.q ? t("noMatchSearch", { q: filter.q }) : t(emptyWords(filter))}
    </EmptyState>
  );
}

/** Why a filter finds nothing. */
function emptyWords({ stuck, status, errorCode }: ViewFilter) {
  if (stuck) return "noStuck";
  if (status === "NOT_SENT") return "noNotSent";
  return status === "FAILED" && !errorCode ? "noFailed" : "noMatchBody";
}

/** Causes that nobody can fix come after those that need a person. */
function needsYouFirst(causes: QueueCharts["failedNow"]) {
  const last = (cause: QueueCharts["failedNow"][number]) => Number(!asksSomebody(cause));
  return causes.toSorted((a, b) => last(a) - last(b) || b.count - a.count);
}

/** The figures know how many rows match when the state is the only filter, or there is none. */
function countMatching(filter: ViewFilter, stats: QueueStats): number | null {
  if (filter.q || filterCount(filter) > (filter.status ? 1 : 0)) return null;
  const status = filter.status as (typeof viewStates)[number] | undefined; // readView lets nothing else through
  return status ? countOf(stats, status) : Object.values(stats.totals).reduce((sum, count) => sum + count, 0);
}
