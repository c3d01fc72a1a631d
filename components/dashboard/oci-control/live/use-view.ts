"use client";

import { usePathname, useSearchParams } from "next/navigation";
import { useEffect, useMemo, useState } from "react";
import { type ControlView, readView, type ViewFilter, writeView } from "#lib/oci/control-view.ts";

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
  const go = (change: Partial<ControlView>, how: "pushState" | "replaceState") => {
    const next = writeView({ ...readView(new URLSearchParams(window.location.search)), ...change });
    window.history[how](null, "", pathname + next);
    setAddress(next);
  };
  return {
    view,
    show: (change: Partial<ControlView>) => go(change, "pushState"),
    /** Moves on without a step in the history: walking through rows, typing a search. */
    slide: (change: Partial<ControlView>) => go(change, "replaceState"),
    filterBy: (filter: ViewFilter) => go({ filter, row: null }, "pushState"),
    linkTo: (change: Partial<ControlView>) => pathname + writeView({ ...view, ...change }),
  };
}
