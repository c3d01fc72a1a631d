"use client";

import { useEffect, useMemo, useRef, useState } from "react";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { useHeldRows } from "#components/workbench/live/use-held-rows.ts";
import type { QueueTabData } from "#lib/oci/queue/page.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import { apiFilter, type ControlView, rowsPerPage } from "#lib/oci/queue/view.ts";
import { fetchRows } from "../control-api.ts";

interface Options {
  view: ControlView;
  isTouched: () => boolean;
}

/** The API gives at most this many at once. */
const pageMax = 200;
/** A change may commit after a later one, so rows are read again from a little before the last read. */
const overlapMs = 20_000;

const isOlder = (row: QueueRow, shown: QueueRow) => Date.parse(row.updatedAt) < Date.parse(shown.updatedAt);

/** The list as the server drew it, held while somebody uses it; more rows are loaded on request. */
export function useQueueRows({ page, of }: QueueTabData, { view, isTouched }: Options) {
  const { site, stats } = useControl();
  const [isLoading, setLoading] = useState(false);
  const given = useMemo(() => ({ rows: page.rows, next: page.nextCursor }), [page]);
  const lastMove = useRef(stats.lastUpdatedAt);
  const held = useHeldRows(given, {
    of,
    isTouched,
    isOlder,
    async readOthers() {
      if (!lastMove.current) return null;
      const updatedFrom = new Date(Date.parse(lastMove.current) - overlapMs).toISOString();
      return (await fetchRows(site.siteId, { sort: "updated", updatedFrom, limit: String(pageMax) }))?.rows ?? null;
    },
  });
  // After the rest was asked for: the moment that the page before knew of.
  useEffect(() => {
    lastMove.current = stats.lastUpdatedAt;
  }, [stats]);
  const latestOf = useRef(of);
  latestOf.current = of;
  async function loadMore(): Promise<void> {
    if (!held.next || isLoading) return;
    setLoading(true);
    const below = await fetchRows(site.siteId, {
      ...apiFilter(view.filter, new Date()),
      sort: view.sort,
      cursor: held.next,
      limit: String(rowsPerPage),
    });
    setLoading(false);
    if (below && latestOf.current === of) held.append({ rows: below.rows, next: below.nextCursor });
  }
  return { ...held, isLoading, loadMore };
}
