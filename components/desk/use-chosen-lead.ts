"use client";

import { type RefObject, useEffect, useRef, useState } from "react";
import { isPhone, layerDepth, pushLayer, sameLayer } from "#components/history/layers.ts";
import type { DeskState } from "./desk-state.ts";

interface Options {
  state: DeskState;
  listRef: RefObject<HTMLElement | null>;
  query: string;
  firstId: string | null;
  isNamed: boolean;
}

function unname(): void {
  const address = new URL(window.location.href);
  address.searchParams.delete("lead");
  window.history.replaceState(null, "", address);
}

/** Which lead is in view: beside the list on a desk, in a sheet on a phone. The address follows, so that it can be shared. */
export function useChosenLead({ state, listRef, query, firstId, isNamed }: Options) {
  const [id, setId] = useState(firstId);
  const [isSheetOpen, setSheetOpen] = useState(false);
  const panelRef = useRef<HTMLElement>(null);
  // Another filter brings another list: a lead that is not on it gives way to the first.
  const [seenQuery, setSeenQuery] = useState(query);
  if (seenQuery !== query) {
    setSeenQuery(query);
    const shown = [...state.needsYou, ...state.leads];
    if (!shown.some((lead) => lead.id === id)) setId(firstId);
  }
  useEffect(() => {
    if (isNamed && isPhone()) setSheetOpen(true);
  }, [isNamed]);

  // Forward leads back into the sheet that Back closed.
  useEffect(() => {
    const follow = () => {
      const named = new URL(window.location.href).searchParams.get("lead");
      if (!named || !isPhone()) return;
      if (layerDepth() === 0) return unname(); // the entry below a sheet that a link opened
      setId(named);
      setSheetOpen(true);
    };
    window.addEventListener("popstate", follow);
    return () => window.removeEventListener("popstate", follow);
  }, []);

  function choose(next: string): void {
    setId(next);
    setSheetOpen(isPhone());
    const address = new URL(window.location.href);
    address.searchParams.set("lead", next);
    if (isPhone() && !isSheetOpen) pushLayer(address);
    else window.history.replaceState(sameLayer(), "", address);
  }

  function close(): void {
    setSheetOpen(false);
    if (layerDepth() > 0) return; // the sheet's own entry is given back, and the address with it
    unname();
  }

  /** The order is the one on the screen. */
  function step(by: 1 | -1): void {
    const rows = [...(listRef.current?.querySelectorAll<HTMLElement>("[data-lead]") ?? [])];
    const place = rows.findIndex((row) => row.dataset.lead === id);
    const row = rows[Math.min(rows.length - 1, Math.max(0, place + by))];
    if (!row?.dataset.lead) return;
    choose(row.dataset.lead);
    row.querySelector<HTMLElement>(".row-link")?.focus({ preventScroll: true });
    row.scrollIntoView({ block: "nearest" });
  }

  function open(): void {
    if (isPhone()) setSheetOpen(id !== null);
    else panelRef.current?.focus();
  }

  return { id, isSheetOpen, panelRef, choose, close, step, open };
}
