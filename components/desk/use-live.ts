"use client";

import { useEffect, useRef, useState } from "react";
import type { DeskChanges } from "#lib/leads/desk-shapes.ts";

const pollMs = 4000;
const pollMaxMs = 30_000;
/** The page may have waited in a tab or a cache: the first question comes early. */
const firstPollMs = 500;

interface LiveOptions {
  siteId: string;
  /** The filter as a query. */
  query: string;
  asOf: string;
  /** `of` is the asOf that the question was asked for. */
  onChanges: (changes: DeskChanges, of: string) => void;
}

/**
 * Asks every few seconds what changed, while somebody looks: a hidden tab is silent and asks at once when it is shown again.
 * After a failure it asks less often. Gives the reader's moment of the last answer.
 */
export function useLive({ siteId, query, asOf, onChanges }: LiveOptions): number | null {
  const [heardAtMs, setHeardAtMs] = useState<number | null>(null);
  const latest = useRef(onChanges);
  useEffect(() => {
    latest.current = onChanges;
  });
  useEffect(() => {
    let since = asOf;
    let waitMs = pollMs;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asking: AbortController | undefined;
    const again = () => {
      clearTimeout(timer);
      if (!document.hidden) timer = setTimeout(ask, waitMs);
    };
    async function ask(): Promise<void> {
      asking?.abort();
      const own = new AbortController();
      asking = own;
      try {
        const parameters = new URLSearchParams(query);
        parameters.set("since", since);
        const response = await fetch(`/api/sites/${siteId}/calls?${parameters}`, { signal: own.signal });
        if (!response.ok) throw new Error(String(response.status));
        const changes: DeskChanges = await response.json(); // our own route, checked where it was read
        since = changes.asOf;
        waitMs = pollMs;
        setHeardAtMs(Date.now());
        latest.current(changes, asOf);
      } catch {
        if (own.signal.aborted) return;
        waitMs = Math.min(2 * waitMs, pollMaxMs);
      }
      again();
    }
    const wake = () => {
      clearTimeout(timer);
      if (document.hidden) asking?.abort();
      else void ask();
    };
    if (!document.hidden) timer = setTimeout(ask, firstPollMs);
    document.addEventListener("visibilitychange", wake);
    window.addEventListener("online", wake);
    return () => {
      clearTimeout(timer);
      asking?.abort();
      document.removeEventListener("visibilitychange", wake);
      window.removeEventListener("online", wake);
    };
  }, [siteId, query, asOf]);
  return heardAtMs;
}
