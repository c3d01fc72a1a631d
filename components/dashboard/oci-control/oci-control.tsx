"use client";

import { Download, Keyboard } from "lucide-react";
import { useTranslations } from "next-intl";
import { useEffect, useMemo, useRef, useState } from "react";
import { publishWarnings } from "#components/shell/warning-counts.ts";
import { Button } from "#components/ui/button.tsx";
import type { QueueAction } from "#lib/oci/control-shapes.ts";
import { apiFilter, filterCount, type ViewFilter } from "#lib/oci/control-view.ts";
import type { ControlPage } from "#lib/oci/page-readers.ts";
import { blockedProviders } from "#lib/oci/row-state.ts";
import { ActionDialog } from "./action-dialog.tsx";
import { CausesCard } from "./causes-card.tsx";
import { exportUrl, fetchCharts, fetchStory } from "./control-api.ts";
import { ControlProvider, type ControlSite } from "./control-context.tsx";
import { DeliveryCard } from "./delivery-card.tsx";
import { ExportPreview } from "./export-preview.tsx";
import { KeysDialog } from "./keys-dialog.tsx";
import { LiveNote } from "./live-note.tsx";
import { OciControlBulkActions } from "./oci-control-bulk-actions.tsx";
import { OciControlSummary } from "./oci-control-summary.tsx";
import { QueueTab } from "./queue-tab.tsx";
import { RowDrawer } from "./row-drawer.tsx";
import { SkippedDialog } from "./skipped-dialog.tsx";
import { UndoLabel } from "./undo-label.tsx";
import { useActions } from "./use-actions.tsx";
import { focusedRow, focusRow, stepFocus, useKeyboard } from "./use-keyboard.ts";
import { useNow } from "./use-now.ts";
import { useQueue } from "./use-queue.ts";
import { useRefetched } from "./use-refetched.ts";
import { useSelection } from "./use-selection.ts";
import { useView } from "./use-view.ts";
import { Warnings } from "./warnings.tsx";

interface OciControlProps {
  site: ControlSite;
  start: ControlPage;
  readAt: string;
  pageSize: number;
}

/** Every conversion of a site: where it stands, why it failed, what to do, and the button that does it. */
export function OciControl({ site, start, readAt, pageSize }: OciControlProps) {
  const t = useTranslations("oci");
  const now = useNow(readAt, 10_000);
  const nav = useView();
  const { view } = nav;
  const search = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLElement>(null);
  const [help, setHelp] = useState(false);

  const isTouched = () =>
    view.row !== null || selection.matching || selection.rows.length > 0 || Boolean(list.current?.matches(":hover, :focus-within"));
  const queue = useQueue(
    { siteId: site.publicId, view, stats: start.stats, rows: start.page.rows, nextCursor: start.page.nextCursor, readAt, pageSize },
    isTouched,
  );
  const { stats, rows } = queue;
  const selection = useSelection(rows);
  const actions = useActions(site.publicId, queue.look);
  const moved = stats.lastUpdatedAt ?? "";
  const charts = useRefetched({ key: start.charts.range, value: start.charts }, { key: view.range, version: moved }, () =>
    fetchCharts(site.publicId, view.range),
  );
  const shownCharts = charts.value ?? start.charts;
  const openRow = rows.find((row) => row.id === view.row) ?? null;
  const story = useRefetched(
    { key: start.story?.row.id ?? "", value: start.story },
    { key: view.row ?? "", version: openRow?.updatedAt ?? moved },
    () => fetchStory(site.publicId, view.row ?? ""),
  );
  const blocked = useMemo(() => blockedProviders(stats), [stats]);
  const warnings = stats.totals.FAILED + stats.stuckProcessing;
  useEffect(() => publishWarnings(site.publicId, warnings), [site.publicId, warnings]);

  const mayAct = site.role !== "viewer";
  const query = () => apiFilter(view.filter, new Date());
  const act = (action: QueueAction) => (selection.matching ? actions.actOnMatching(action, query()) : actions.act(action, selection.rows));
  const open = (id: string) => (view.row ? nav.slide({ row: id }) : nav.show({ row: id }));
  const close = () => {
    const id = view.row;
    nav.slide({ row: null });
    if (id) focusRow(id);
  };
  const step = (by: 1 | -1) => {
    const id = stepFocus(by, view.row);
    if (id && view.row) nav.slide({ row: id });
  };
  const retryKey = () => {
    const at = rows.find((row) => row.id === (view.row ?? focusedRow()));
    if (selection.matching || selection.rows.length > 0) act("RETRY_SELECTED");
    else if (at) actions.act("RETRY_SELECTED", [at]);
  };
  const selectKey = () => {
    const id = focusedRow() ?? view.row;
    if (id) selection.toggle(id, false);
  };
  const letGo = () => (view.row ? close() : selection.clear());
  useKeyboard({
    "/": () => search.current?.focus(),
    j: () => step(1),
    k: () => step(-1),
    "?": () => setHelp(true),
    Escape: letGo,
    ...(mayAct && { x: selectKey, r: retryKey, u: actions.undo }),
  });

  const sameCause = shownCharts.failedNow.find(({ code }) => code === openRow?.providerErrorCode)?.count ?? 1;
  const undoable = actions.last && Date.parse(actions.last.undoUntil) > now.getTime() ? actions.last : null;
  return (
    <ControlProvider site={site} now={now} blocked={blocked}>
      <header className="bar">
        <h1>{t("title")}</h1>
        <LiveNote freshAt={queue.freshAt} />
        <span className="end">
          {undoable && (
            <Button tone="ghost" onClick={actions.undo}>
              <UndoLabel until={undoable.undoUntil} />
            </Button>
          )}
          <Tabs tab={view.tab} onTab={(tab) => nav.show({ tab, row: null })} />
          <a className="btn" href={exportUrl(site.publicId, query())} download aria-label={t("csvLabel")} suppressHydrationWarning>
            <Download className="i" />
            {t("csv")}
          </a>
          <Button tone="ghost" icon className="desk-only" aria-label={t("keys.title")} onClick={() => setHelp(true)}>
            <Keyboard className="i" />
          </Button>
        </span>
      </header>
      <div className="oci">
        <p className="sr" aria-live="polite">
          {t("announce", { failed: stats.totals.FAILED, stuck: stats.stuckProcessing, waiting: stats.totals.QUEUED + stats.totals.RETRY })}
        </p>
        {view.tab === "export" ? (
          <ExportPreview />
        ) : (
          <>
            <Warnings stats={stats} onFilter={nav.filterBy} />
            <OciControlSummary stats={stats} filter={view.filter} onFilter={nav.filterBy} />
            <div className="two">
              <CausesCard
                causes={needsYouFirst(shownCharts.failedNow)}
                stats={stats}
                filter={view.filter}
                onFilter={nav.filterBy}
                onRetry={(filter) => actions.actOnMatching("RETRY_SELECTED", apiFilter(filter, new Date()))}
              />
              <DeliveryCard charts={shownCharts} stats={stats} onRange={(range) => nav.slide({ range })} />
            </div>
            <QueueTab
              nav={nav}
              queue={queue}
              selection={selection}
              codes={shownCharts.failedNow}
              search={search}
              list={list}
              onOpen={open}
            />
            {mayAct && (
              <OciControlBulkActions
                selection={selection}
                matchingCount={countMatching(view.filter, stats.totals)}
                hasMore={queue.nextCursor !== null}
                onAct={act}
              />
            )}
          </>
        )}
      </div>
      {view.row && view.tab === "queue" && (
        <RowDrawer
          key={view.row}
          row={openRow}
          story={story.value}
          failed={story.failed}
          actions={actions}
          sameCause={sameCause}
          onStep={openRow ? step : null}
          onFilter={nav.filterBy}
          onChanged={queue.look}
          onClose={close}
        />
      )}
      <ActionDialog actions={actions} />
      <SkippedDialog outcome={actions.outcome} rows={rows} onClose={actions.closeOutcome} />
      <KeysDialog open={help} onOpenChange={setHelp} mayAct={mayAct} />
    </ControlProvider>
  );
}

/** What was rightly not sent is no trouble: it comes after what is. */
function needsYouFirst(causes: ControlPage["charts"]["failedNow"]) {
  const skipped = (category: string | null) => Number(category === "DETERMINISTIC_SKIP");
  return causes.toSorted((a, b) => skipped(a.category) - skipped(b.category) || b.count - a.count);
}

/** The figures know how many rows match when the state is the only filter, or there is none. */
function countMatching(filter: ViewFilter, totals: ControlPage["stats"]["totals"]): number | null {
  if (filter.q || filterCount(filter) > (filter.status ? 1 : 0)) return null;
  const status = filter.status as keyof typeof totals | undefined; // readView lets nothing else through
  return status ? totals[status] : Object.values(totals).reduce((sum, count) => sum + count, 0);
}

function Tabs({ tab, onTab }: { tab: "queue" | "export"; onTab: (tab: "queue" | "export") => void }) {
  const t = useTranslations("oci");
  return (
    <fieldset className="seg" aria-label={t("tabs.label")}>
      {(["queue", "export"] as const).map((each) => (
        <button key={each} type="button" aria-pressed={tab === each} onClick={() => onTab(each)}>
          {t(`tabs.${each}`)}
        </button>
      ))}
    </fieldset>
  );
}
