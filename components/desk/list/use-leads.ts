"use client";

import { useTranslations } from "next-intl";
import { type RefObject, useMemo, useRef, useState } from "react";
import { useToast } from "#components/ui/toast.tsx";
import { isListTouched } from "#components/workbench/live/is-list-touched.ts";
import { useExpected } from "#components/workbench/live/use-expected.ts";
import { useHeldRows } from "#components/workbench/live/use-held-rows.ts";
import type { DeskLead, DeskPage } from "#lib/leads/desk-shapes.ts";
import type { SiteId } from "#lib/site.ts";
import { readLeads, readPage } from "../read-leads.ts";
import { isOlderLead } from "./lead-state.ts";

interface Options {
  siteId: SiteId;
  page: DeskPage;
  /** The filter that the page was read for, as a query. */
  of: string;
  list: RefObject<HTMLElement | null>;
}

/** The leads the server drew. The list does not move while somebody uses it, and our own changes show before the server answers. */
export function useLeads({ siteId, page, of, list }: Options) {
  const t = useTranslations("errors");
  const toast = useToast();
  const [isLoading, setLoading] = useState(false);
  const options = {
    of,
    isTouched: () => isListTouched(list.current),
    isOlder: isOlderLead,
    readOthers: (ids: string[]) => readLeads(siteId, ids),
  };
  const all = useHeldRows(
    useMemo(() => ({ rows: page.leads, next: page.next }), [page]),
    options,
  );
  const needing = useHeldRows(
    useMemo(() => ({ rows: page.needsYou, next: null }), [page]),
    options,
  );
  const { over, expect, forget } = useExpected<DeskLead>();
  const latestOf = useRef(of);
  latestOf.current = of;
  async function loadMore(): Promise<void> {
    if (!all.next) return;
    setLoading(true);
    const below = await readPage(siteId, of, all.next);
    setLoading(false);
    if (!below) toast.failed(t(navigator.onLine ? "INTERNAL" : "OFFLINE"));
    else if (latestOf.current === of) all.append({ rows: below.leads, next: below.next });
  }
  return {
    rows: all.rows.map(over),
    needsYou: needing.rows.map(over),
    waiting: all.waiting.length,
    freshIds: all.freshIds,
    hasMore: all.next !== null,
    isLoading,
    loadMore: () => void loadMore(),
    showNewest() {
      all.showNewest();
      needing.showNewest();
    },
    /** Null when it is not on the list. */
    find(id: string | null): DeskLead | null {
      const found = [...needing.rows, ...all.rows, ...all.waiting].find((lead) => lead.id === id);
      return found ? over(found) : null;
    },
    over,
    expect,
    forget,
    /** The lead as it was read. */
    patch(lead: DeskLead) {
      all.patch([lead]);
      needing.patch([lead]);
    },
  };
}
export type Leads = ReturnType<typeof useLeads>;
