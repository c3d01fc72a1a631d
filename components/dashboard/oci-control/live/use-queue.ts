"use client";

import { useEffect, useRef, useState } from "react";
import { patchRows, replaceStart, rowsAbove } from "#lib/oci/queue/live-rows.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import type { QueueStats } from "#lib/oci/queue/stats.ts";
import { apiFilter, type ControlView } from "#lib/oci/queue/view.ts";
import { fetchRows, fetchStats } from "./control-api.ts";
import { usePoll } from "./use-poll.ts";

const pollMs = 4000;
/** The API gives at most this many at once. */
const pageMax = 200;

interface Start {
  siteId: string;
  view: ControlView;
  stats: QueueStats;
  rows: QueueRow[];
  nextCursor: string | null;
  readAt: string;
  pageSize: number;
}

/** The figures and the list, kept true. While `touched` says that somebody is at the list, rows only change where they stand. */
export function useQueue({ siteId, view, readAt, pageSize, ...start }: Start, touched: () => boolean) {
  const [stats, setStats] = useState(start.stats);
  const [list, setList] = useState({ rows: start.rows, nextCursor: start.nextCursor });
  const [above, setAbove] = useState<QueueRow[]>([]);
  const [freshAt, setFreshAt] = useState(readAt);
  const [loading, setLoading] = useState(false);
  const query = { ...apiFilter(view.filter, new Date(freshAt)), sort: view.sort };
  const wanted = JSON.stringify([view.filter, view.sort]);
  const shown = useRef(wanted);

  /** The list from its start, as it is now. A slow answer to an earlier question is not shown. */
  async function reload(limit = pageSize): Promise<void> {
    const asked = wanted;
    setLoading(true);
    const page = await fetchRows(siteId, { ...query, limit: String(Math.min(limit, pageMax)) });
    setLoading(false);
    if (!page || asked !== latest.current) return;
    setAbove([]);
    setList({ rows: page.rows, nextCursor: page.nextCursor });
  }
  const latest = useRef(wanted);
  latest.current = wanted;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the filter is the event
  useEffect(() => {
    if (shown.current === wanted) return;
    shown.current = wanted;
    reload();
  }, [wanted]);

  async function takeNews(since: string | null): Promise<void> {
    const asked = wanted;
    const readCount = Math.min(Math.max(list.rows.length, pageSize), pageMax);
    const [page, changed] = await Promise.all([
      fetchRows(siteId, { ...query, limit: String(readCount) }),
      touched() && since ? fetchRows(siteId, { sort: "updated", updatedFrom: since, limit: String(pageMax) }) : null,
    ]);
    if (!page || asked !== latest.current) return;
    if (!touched()) {
      setAbove([]);
      setList(({ rows, nextCursor }) => {
        const kept = replaceStart(rows, page.rows, readCount);
        return { rows: kept, nextCursor: kept.length > page.rows.length ? nextCursor : page.nextCursor };
      });
      return;
    }
    const news = [...page.rows, ...(changed?.rows ?? [])];
    setList(({ rows, nextCursor }) => ({ rows: patchRows(rows, news), nextCursor }));
    setAbove(rowsAbove(list.rows, page.rows));
  }

  /** One small question; the list is asked for only when something moved. */
  async function look(): Promise<void> {
    const next = await fetchStats(siteId);
    if (!next) return;
    const since = stats.lastUpdatedAt;
    setStats(next);
    setFreshAt(new Date().toISOString());
    if (next.lastUpdatedAt !== since) await takeNews(since);
  }
  usePoll(look, pollMs);

  return {
    stats,
    ...list,
    above: above.length,
    freshAt,
    loading,
    look,
    reload: () => reload(Math.max(list.rows.length + above.length, pageSize)),
    async loadMore(): Promise<void> {
      if (!list.nextCursor || loading) return;
      const asked = wanted;
      setLoading(true);
      const page = await fetchRows(siteId, { ...query, cursor: list.nextCursor, limit: String(pageSize) });
      setLoading(false);
      if (!page || asked !== latest.current) return;
      setList(({ rows }) => {
        const known = new Set(rows.map((row) => row.id));
        return { rows: [...rows, ...page.rows.filter((row) => !known.has(row.id))], nextCursor: page.nextCursor };
      });
    },
  };
}
