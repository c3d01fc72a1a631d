"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import { ActionDialog } from "#components/dashboard/oci-control/actions/action-dialog.tsx";
import { RunBar } from "#components/dashboard/oci-control/actions/run-bar.tsx";
import { SkippedDialog } from "#components/dashboard/oci-control/actions/skipped-dialog.tsx";
import { CausesCard } from "#components/dashboard/oci-control/charts/causes-card.tsx";
import { DeliveryCard } from "#components/dashboard/oci-control/charts/delivery-card.tsx";
import { ControlProvider } from "#components/dashboard/oci-control/context/control-context.tsx";
import { DaysReport } from "#components/dashboard/oci-control/days/days-report.tsx";
import { spanDays } from "#components/dashboard/oci-control/days/span-days.ts";
import { RowDrawer } from "#components/dashboard/oci-control/drawer/row-drawer.tsx";
import { ExportPreview } from "#components/dashboard/oci-control/export/export-preview.tsx";
import { KeysDialog } from "#components/dashboard/oci-control/keys/keys-dialog.tsx";
import { daysExportUrl, exportUrl } from "#components/dashboard/oci-control/live/control-api.ts";
import { type ControlStart, useControlPage } from "#components/dashboard/oci-control/live/use-control-page.ts";
import { QueueTab } from "#components/dashboard/oci-control/table/queue-tab.tsx";
import type { QueueCharts } from "#lib/oci/queue/charts.ts";
import { asksSomebody } from "#lib/oci/queue/row-state.ts";
import type { QueueStats } from "#lib/oci/queue/stats.ts";
import { apiFilter, filterCount, type ViewFilter } from "#lib/oci/queue/view.ts";
import { ControlBar } from "./control-bar.tsx";
import { OciControlBulkActions } from "./oci-control-bulk-actions.tsx";
import { OciControlSummary } from "./oci-control-summary.tsx";
import { Warnings } from "./warnings.tsx";

/** Every conversion of a site: where it stands, why it failed, what to do, and the button that does it. */
export function OciControl(given: ControlStart) {
  const t = useTranslations("oci");
  const [help, setHelp] = useState(false);
  const { site } = given;
  const { now, nav, queue, selection, actions, charts, openRow, story, mayAct, ...page } = useControlPage(given, () => setHelp(true));
  const { view } = nav;
  const { stats } = queue;
  const undoUntil = actions.last && Date.parse(actions.last.undoUntil) > now.getTime() ? actions.last.undoUntil : null;
  return (
    <ControlProvider
      site={site}
      now={now}
      blocked={page.blocked}
      isConnected={stats.connected !== false}
      firstPollSeconds={given.start.firstPollSeconds}
    >
      <ControlBar
        tab={view.tab}
        freshAt={queue.freshAt}
        csvHref={
          view.tab === "days"
            ? daysExportUrl(site.publicId, spanDays(view.span, site.timezone, now))
            : exportUrl(site.publicId, page.query())
        }
        undoUntil={undoUntil}
        onTab={(tab) => nav.show({ tab, row: null })}
        onUndo={actions.undo}
        onHelp={() => setHelp(true)}
      />
      <div className="oci">
        <p className="sr" aria-live="polite">
          {t("announce", { failed: stats.totals.FAILED, stuck: stats.stuckProcessing, waiting: stats.totals.QUEUED + stats.totals.RETRY })}
        </p>
        {view.tab === "export" ? (
          <ExportPreview />
        ) : view.tab === "days" ? (
          <DaysReport
            span={view.span}
            onSpan={(span) => nav.slide({ span })}
            linkTo={(filter) => nav.linkTo({ tab: "queue", filter, row: null })}
          />
        ) : (
          <>
            <Warnings stats={stats} onFilter={nav.filterBy} />
            <OciControlSummary stats={stats} filter={view.filter} onFilter={nav.filterBy} />
            <div className="two">
              <CausesCard
                causes={needsYouFirst(charts.failedNow)}
                stats={stats}
                filter={view.filter}
                onFilter={nav.filterBy}
                onRetry={(filter) => actions.actOnMatching("RETRY_SELECTED", apiFilter(filter, new Date()))}
              />
              <DeliveryCard charts={charts} stats={stats} onRange={(range) => nav.slide({ range })} />
            </div>
            <QueueTab
              nav={nav}
              queue={queue}
              selection={selection}
              codes={charts.failedNow}
              search={page.search}
              list={page.list}
              onOpen={page.open}
            />
            {mayAct && !actions.run && (
              <OciControlBulkActions
                selection={selection}
                matchingCount={countMatching(view.filter, stats.totals)}
                hasMore={queue.nextCursor !== null}
                onAct={page.act}
              />
            )}
          </>
        )}
        {mayAct && <RunBar actions={actions} />}
      </div>
      {view.row && view.tab === "queue" && (
        <RowDrawer
          key={view.row}
          row={openRow}
          story={story.value}
          failed={story.failed}
          actions={actions}
          sameCause={charts.failedNow.find(({ code }) => code === openRow?.providerErrorCode)?.count ?? 1}
          onStep={openRow ? page.step : null}
          linkTo={(row) => nav.linkTo({ row })}
          onOpen={page.open}
          onFilter={nav.filterBy}
          onChanged={page.changed}
          onClose={page.close}
        />
      )}
      <ActionDialog actions={actions} />
      <SkippedDialog outcome={actions.outcome} rows={queue.rows} onClose={actions.closeOutcome} />
      <KeysDialog open={help} onOpenChange={setHelp} mayAct={mayAct} />
    </ControlProvider>
  );
}

/** What nobody can mend, and what was rightly not sent, comes after what asks for a person. */
function needsYouFirst(causes: QueueCharts["failedNow"]) {
  const last = (cause: QueueCharts["failedNow"][number]) => Number(!asksSomebody(cause)) + Number(cause.category === "DETERMINISTIC_SKIP");
  return causes.toSorted((a, b) => last(a) - last(b) || b.count - a.count);
}

/** The figures know how many rows match when the state is the only filter, or there is none. */
function countMatching(filter: ViewFilter, totals: QueueStats["totals"]): number | null {
  if (filter.q || filterCount(filter) > (filter.status ? 1 : 0)) return null;
  const status = filter.status as keyof typeof totals | undefined; // readView lets nothing else through
  return status ? totals[status] : Object.values(totals).reduce((sum, count) => sum + count, 0);
}
