"use client";

import { useEffect, useMemo, useRef, useState } from "react";
import { useActions } from "#components/dashboard/oci-control/actions/use-actions.tsx";
import { type ControlSite, mayActOn } from "#components/dashboard/oci-control/context/control-context.tsx";
import { focusedRow, focusRow, stepFocus } from "#components/dashboard/oci-control/keys/row-focus.ts";
import { useSelection } from "#components/dashboard/oci-control/table/use-selection.ts";
import { useNavCount } from "#components/shell/nav-counts.tsx";
import { useKeys } from "#components/ui/use-keys.ts";
import type { ControlPage } from "#lib/oci/queue/page.ts";
import { blockedProviders, needsPerson } from "#lib/oci/queue/row-state.ts";
import { apiFilter } from "#lib/oci/queue/view.ts";
import type { QueueAction } from "#lib/oci/queue-types.ts";
import { fetchCharts, fetchStory } from "./control-api.ts";
import { useNow } from "./use-now.ts";
import { useQueue } from "./use-queue.ts";
import { useRefetched } from "./use-refetched.ts";
import { useView } from "./use-view.ts";

export interface ControlStart {
  site: ControlSite;
  start: ControlPage;
  readAt: string;
  pageSize: number;
}

/** How often ages in the table move on; the live note counts its own seconds. */
const ageMs = 10_000;

/** What OCI Control knows and can do, kept true while it is open. */
export function useControlPage({ site, start, readAt, pageSize }: ControlStart, onHelp: () => void) {
  const now = useNow(readAt, ageMs);
  const nav = useView();
  const { view } = nav;
  const search = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLElement>(null);
  const isTouched = () =>
    view.row !== null || selection.matching || selection.rows.length > 0 || Boolean(list.current?.matches(":hover, :focus-within"));
  const queue = useQueue(
    { siteId: site.publicId, view, stats: start.stats, rows: start.page.rows, nextCursor: start.page.nextCursor, readAt, pageSize },
    isTouched,
  );
  const { stats, rows } = queue;
  const selection = useSelection(rows);
  const actions = useActions(site, queue.look);
  const moved = stats.lastUpdatedAt ?? "";
  const charts = useRefetched({ key: start.charts.range, value: start.charts }, { key: view.range, version: moved }, () =>
    fetchCharts(site.publicId, view.range),
  );
  const [changes, setChanges] = useState(0);
  const openRow = rows.find((row) => row.id === view.row) ?? null;
  const story = useRefetched(
    { key: start.story?.row.id ?? "", value: start.story },
    // A change of the sale need not change this row: the ledger and the other rows are part of its story.
    { key: view.row ?? "", version: `${openRow?.updatedAt ?? ""} ${moved} ${changes}` },
    () => fetchStory(site.publicId, view.row ?? ""),
  );
  const blocked = useMemo(() => blockedProviders(stats), [stats]);
  const warnings = needsPerson(stats);
  const [, setWarnings] = useNavCount("ociControl", site.publicId);
  useEffect(() => setWarnings(warnings), [setWarnings, warnings]);

  const mayAct = mayActOn(site);
  const query = () => apiFilter(view.filter, new Date());
  const act = (action: QueueAction) => (selection.matching ? actions.actOnMatching(action, query()) : actions.act(action, selection.rows));
  const close = () => {
    const id = view.row;
    nav.closeRow();
    if (id) focusRow(id);
  };
  const step = (by: 1 | -1) => {
    const id = stepFocus(by, view.row);
    if (id && view.row) nav.slide({ row: id });
  };
  const retryHere = () => {
    const here = rows.find((row) => row.id === (view.row ?? focusedRow()));
    if (selection.matching || selection.rows.length > 0) act("RETRY_SELECTED");
    else if (here) actions.act("RETRY_SELECTED", [here]);
  };
  const selectHere = () => {
    const id = focusedRow() ?? view.row;
    if (id) selection.toggle(id, false);
  };
  const letGo = () => (view.row ? close() : selection.clear());
  useKeys({
    "/": () => search.current?.focus(),
    j: () => step(1),
    k: () => step(-1),
    "?": onHelp,
    Escape: letGo,
    ...(mayAct && { x: selectHere, r: retryHere, u: actions.undo }),
  });

  return {
    now,
    nav,
    search,
    list,
    queue,
    selection,
    actions,
    charts: charts.value ?? start.charts,
    openRow,
    story,
    blocked,
    mayAct,
    query,
    act,
    close,
    step,
    /** Somebody changed a sale or a row here. */
    changed: () => {
      setChanges((count) => count + 1);
      void queue.look();
    },
    open: (id: string) => (view.row ? nav.slide({ row: id }) : nav.openRow(id)),
  };
}
