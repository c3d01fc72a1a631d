"use client";

import { useEffect } from "react";
import type { QueueStats } from "#lib/oci/queue/stats.ts";
import type { SiteId } from "#lib/site.ts";
import { useNavCount } from "./nav-counts.tsx";

const askAgainMs = 60_000;

/** How many conversions of a site need a person, asked now and then while the tab is seen. A `live` page reports it itself. */
export function useWatchWarnings(siteId: SiteId | undefined, live: boolean): void {
  const [, setCount] = useNavCount("ociControl", siteId ?? "");
  useEffect(() => {
    if (!siteId || live) return;
    const look = async () => {
      if (document.hidden) return;
      try {
        const response = await fetch(`/api/oci/queue-stats?siteId=${siteId}`);
        if (!response.ok) return;
        const stats = (await response.json()) as QueueStats; // the route's own shape
        const { needsPerson } = await import("#lib/oci/queue/row-state.ts"); // the table of causes, which most pages do without
        setCount(needsPerson(stats));
      } catch {
        // no connection: the last count stays
      }
    };
    look();
    const timer = setInterval(look, askAgainMs);
    return () => clearInterval(timer);
  }, [siteId, live, setCount]);
}
