"use client";

import { useEffect, useSyncExternalStore } from "react";

/** How many conversions of a site need a person, for the navigation. The page that knows it live tells; else it is asked for now and then. */
const counts = new Map<string, number>();
const listeners = new Set<() => void>();
const askAgainMs = 60_000;

export function publishWarnings(siteId: string, count: number): void {
  if (counts.get(siteId) === count) return;
  counts.set(siteId, count);
  for (const tell of listeners) tell();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useWarnings = (siteId: string): number =>
  useSyncExternalStore(
    subscribe,
    () => counts.get(siteId) ?? 0,
    () => 0,
  );

async function ask(siteId: string): Promise<void> {
  try {
    const response = await fetch(`/api/oci/queue-stats?siteId=${siteId}`);
    if (!response.ok) return;
    const { totals, stuckProcessing } = await response.json();
    publishWarnings(siteId, Number(totals.FAILED) + Number(stuckProcessing));
  } catch {
    // no connection: the last count stays
  }
}

/** Asks while the tab is seen. `live` pages tell by themselves. */
export function useWatchWarnings(siteId: string | undefined, live: boolean): void {
  useEffect(() => {
    if (!siteId || live) return;
    const look = () => {
      if (!document.hidden) ask(siteId);
    };
    look();
    const timer = setInterval(look, askAgainMs);
    return () => clearInterval(timer);
  }, [siteId, live]);
}
