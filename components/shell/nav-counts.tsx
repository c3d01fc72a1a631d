"use client";

import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";
import type { SiteId } from "#lib/site.ts";
import type { NavItem } from "./nav-items.ts";

type Counts = Readonly<Record<string, number>>;
interface NavCounts {
  counts: Counts;
  setCount: (key: string, count: number) => void;
}

const NavCountsContext = createContext<NavCounts>({ counts: {}, setCount: () => {} });
const keyOf = (item: NavItem["key"], siteId: string) => `${item}/${siteId}`;

/** How many things wait behind each page of the navigation; a page that knows better says so while it is open. */
export function NavCountsProvider({ open, children }: { open: Counts; children: ReactNode }) {
  const [counted, setCounted] = useState<Counts>({});
  const setCount = useCallback(
    (key: string, count: number) => setCounted((before) => (before[key] === count ? before : { ...before, [key]: count })),
    [],
  );
  const value = useMemo(() => {
    const first = Object.fromEntries(Object.entries(open).map(([siteId, count]) => [keyOf("today", siteId), count]));
    return { counts: { ...first, ...counted }, setCount };
  }, [open, counted, setCount]);
  return <NavCountsContext value={value}>{children}</NavCountsContext>;
}

export function useNavCount(item: NavItem["key"], siteId: SiteId | ""): [count: number, setCount: (count: number) => void] {
  const { counts, setCount } = useContext(NavCountsContext);
  const key = keyOf(item, siteId);
  const set = useCallback((count: number) => setCount(key, count), [key, setCount]);
  return [counts[key] ?? 0, set];
}
