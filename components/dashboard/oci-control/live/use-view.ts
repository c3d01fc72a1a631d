"use client";

import { usePathname, useSearchParams } from "next/navigation";
import { useEffect, useMemo, useState } from "react";
import { isPhone, layerDepth, pushLayer, sameLayer } from "#components/history/layers.ts";
import { type ControlView, readView, type ViewFilter, writeView } from "#lib/oci/queue/view.ts";

/**
 * What is shown, kept in the address: it can be shared, and Back goes back. The page does not wait for Next to follow the address:
 * that is a transition, and an operator who walks through rows is faster.
 */
export function useView() {
  const pathname = usePathname();
  const followed = useSearchParams()?.toString() ?? "";
  const [address, setAddress] = useState(followed);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a link or Back changed the address; what it is now is the truth
  useEffect(() => setAddress(window.location.search), [followed]);
  useEffect(() => {
    const follow = () => setAddress(window.location.search);
    window.addEventListener("popstate", follow);
    return () => window.removeEventListener("popstate", follow);
  }, []);
  const view = useMemo(() => readView(new URLSearchParams(address)), [address]);
  const go = (change: Partial<ControlView>, write: (address: string) => void) => {
    const next = writeView({ ...readView(new URLSearchParams(window.location.search)), ...change });
    write(pathname + next);
    setAddress(next);
  };
  /** What was chosen in a sheet takes the place of the sheet's entry, which closes with it. */
  const step = (address: string) => window.history[layerDepth() > 0 ? "replaceState" : "pushState"](null, "", address);
  const stay = (address: string) => window.history.replaceState(sameLayer(), "", address);
  return {
    view,
    show: (change: Partial<ControlView>) => go(change, step),
    /** Moves on without a step in the history: walking through rows, typing a search. */
    slide: (change: Partial<ControlView>) => go(change, stay),
    filterBy: (filter: ViewFilter) => go({ filter, row: null }, step),
    openRow: (row: string) => go({ row }, isPhone() ? pushLayer : step),
    /** On a phone the row's page has an entry of its own: closing it is going back. */
    closeRow: () => (layerDepth() > 0 ? window.history.back() : go({ row: null }, stay)),
    linkTo: (change: Partial<ControlView>) => pathname + writeView({ ...view, ...change }),
  };
}
