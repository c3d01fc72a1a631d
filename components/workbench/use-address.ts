"use client";

import { usePathname, useRouter, useSearchParams } from "next/navigation";
import { useEffect, useMemo, useState, useTransition } from "react";
import { afterLayers, isPhone, layerDepth, pushLayer, sameLayer } from "#components/history/layers.ts";

interface Options<View> {
  read: (params: URLSearchParams) => View;
  /** The shortest query that shows the same again, "" or "?…". */
  write: (view: View) => string;
}

/**
 * What a page shows, kept in the address: it can be shared, and Back goes back. `view` follows at once; what the server draws for it
 * follows in a transition (`isTurning`).
 */
export function useAddress<View extends object>({ read, write }: Options<View>) {
  const router = useRouter();
  const pathname = usePathname();
  const followed = useSearchParams()?.toString() ?? "";
  const [address, setAddress] = useState(followed);
  const [isTurning, startTurn] = useTransition();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a link or Back changed the address; what it is now is the truth
  useEffect(() => setAddress(window.location.search), [followed]);
  useEffect(() => {
    const follow = () => setAddress(window.location.search);
    window.addEventListener("popstate", follow);
    return () => window.removeEventListener("popstate", follow);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: read is the screen's own function
  const view = useMemo(() => read(new URLSearchParams(address)), [address]);
  const linkTo = (change: Partial<View>) => pathname + write({ ...view, ...change });
  const turn = (change: Partial<View>, how: "push" | "replace") => {
    const next = linkTo(change);
    setAddress(new URL(next, window.location.href).search);
    afterLayers(() => startTurn(() => router[how](next, { scroll: false })));
  };
  /** Changes the address for this page only: the server does not redraw. */
  const stay = (change: Partial<View>, how: (next: string) => void) => {
    const next = linkTo(change);
    how(next);
    setAddress(new URL(next, window.location.href).search);
  };
  const slide = (next: string) => window.history.replaceState(sameLayer(), "", next);
  return {
    view,
    isTurning,
    linkTo,
    /** Another filter or tab: a step in the history. */
    show: (change: Partial<View>) => turn(change, "push"),
    /** The same without a step: typing a search, another order. */
    adjust: (change: Partial<View>) => turn(change, "replace"),
    /** A row: a step, and on a phone a layer that Back closes. */
    open: (change: Partial<View>) => stay(change, isPhone() ? pushLayer : (next) => window.history.pushState(null, "", next)),
    /** Walking from row to row makes no step. */
    slide: (change: Partial<View>) => stay(change, slide),
    /** On a phone the row has an entry of its own, and so has what lies over it: closing it is going back below them. */
    close: (change: Partial<View>) => (layerDepth() > 0 ? window.history.go(-layerDepth()) : stay(change, slide)),
  };
}
export type Address<View extends object> = ReturnType<typeof useAddress<View>>;
