"use client";

import { useEffect, useRef } from "react";

/**
 * Calls again and again while somebody looks: never twice at once, not in a hidden tab, and at once when the tab comes back
 * or the connection returns.
 */
export function usePoll(work: () => Promise<void>, everyMs: number): void {
  const newest = useRef(work);
  newest.current = work;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let busy = false;
    let stopped = false;
    const run = async () => {
      clearTimeout(timer);
      if (busy || stopped || document.hidden) return;
      busy = true;
      await newest.current();
      busy = false;
      if (!stopped) timer = setTimeout(run, everyMs);
    };
    timer = setTimeout(run, everyMs);
    document.addEventListener("visibilitychange", run);
    window.addEventListener("online", run);
    return () => {
      stopped = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", run);
      window.removeEventListener("online", run);
    };
  }, [everyMs]);
}
