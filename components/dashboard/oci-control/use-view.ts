"use client";

import { usePathname, useSearchParams } from "next/navigation";
import { type ControlView, readView, type ViewFilter, writeView } from "#lib/oci/control-view.ts";

/** What is shown, kept in the address: it can be shared, and Back goes back. Next follows pushState without asking the server. */
export function useView() {
  const pathname = usePathname();
  const view = readView(useSearchParams() ?? new URLSearchParams());
  const go = (change: Partial<ControlView>, how: "push" | "replace") =>
    window.history[how === "push" ? "pushState" : "replaceState"](null, "", pathname + writeView({ ...view, ...change }));
  return {
    view,
    show: (change: Partial<ControlView>) => go(change, "push"),
    /** Moves on without a step in the history: walking through rows, typing a search. */
    slide: (change: Partial<ControlView>) => go(change, "replace"),
    filterBy: (filter: ViewFilter) => go({ filter, row: null }, "push"),
    linkTo: (change: Partial<ControlView>) => pathname + writeView({ ...view, ...change }),
  };
}
