"use client";

import { Inbox, SearchX } from "lucide-react";
import { useTranslations } from "next-intl";
import type { RefObject } from "react";
import { useControl } from "#components/dashboard/oci-control/context/control-context.tsx";
import type { useQueue } from "#components/dashboard/oci-control/live/use-queue.ts";
import type { useView } from "#components/dashboard/oci-control/live/use-view.ts";
import { OciControlFilters } from "#components/dashboard/oci-control/oci-control-filters.tsx";
import { OciControlTable } from "#components/dashboard/oci-control/oci-control-table.tsx";
import { Button, ButtonLink } from "#components/ui/button.tsx";
import { EmptyState } from "#components/ui/empty-state.tsx";
import type { QueueCharts } from "#lib/oci/queue/charts.ts";
import type { ViewFilter } from "#lib/oci/queue/view.ts";
import type { Selection } from "./use-selection.ts";

interface QueueTabProps {
  nav: ReturnType<typeof useView>;
  queue: ReturnType<typeof useQueue>;
  selection: Selection;
  codes: QueueCharts["failedNow"];
  search: RefObject<HTMLInputElement | null>;
  list: RefObject<HTMLElement | null>;
  onOpen: (id: string) => void;
}

/** The list with its filters: new rows wait above it while somebody is at it, more come from below when asked for. */
export function QueueTab({ nav, queue, selection, codes, search, list, onOpen }: QueueTabProps) {
  const t = useTranslations("oci.table");
  const { mayAct } = useControl();
  const { view } = nav;
  const searchFor = (q: string) => {
    const { q: _, ...rest } = view.filter;
    nav.slide({ filter: q ? { ...rest, q } : rest, row: null });
  };
  return (
    <section ref={list} className="card" aria-label={t("label")} aria-busy={queue.loading}>
      <OciControlFilters
        filter={view.filter}
        codes={codes}
        sort={view.sort}
        search={search}
        onFilter={nav.filterBy}
        onSearch={searchFor}
        onSort={(sort) => nav.slide({ sort })}
      />
      {queue.above > 0 && (
        <button type="button" className="new-rows" onClick={queue.reload}>
          {t("newRows", { count: queue.above })}
        </button>
      )}
      {queue.rows.length === 0 ? (
        <Nothing filter={view.filter} onClear={() => nav.filterBy({})} />
      ) : (
        <>
          <OciControlTable
            rows={queue.rows}
            openId={view.row}
            selection={selection}
            linkTo={(row) => nav.linkTo({ row })}
            onOpen={onOpen}
            mayAct={mayAct}
          />
          <div className="table-foot">
            {queue.nextCursor ? (
              <Button size="sm" aria-busy={queue.loading} onClick={queue.loadMore}>
                {t("loadMore")}
              </Button>
            ) : (
              <span>{t("end", { count: queue.rows.length })}</span>
            )}
          </div>
        </>
      )}
    </section>
  );
}

function Nothing({ filter, onClear }: { filter: ViewFilter; onClear: () => void }) {
  const t = useTranslations("oci.empty");
  const { site } = useControl();
  if (Object.keys(filter).length > 0) {
    return (
      <EmptyState icon={SearchX} title={t("noMatch")} action={<Button onClick={onClear}>{t("clear")}</Button>}>
        {filter.q
          ? t("noMatchSearch", { q: filter.q })
          : t(filter.stuck ? "noStuck" : filter.status === "FAILED" && !filter.errorCode ? "noFailed" : "noMatchBody")}
      </EmptyState>
    );
  }
  return (
    <EmptyState icon={Inbox} title={t("never")} action={<ButtonLink href={`/dashboard/site/${site.publicId}`}>{t("toToday")}</ButtonLink>}>
      {t("neverBody")}
    </EmptyState>
  );
}
