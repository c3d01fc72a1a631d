"use client";

import { useRouter } from "next/navigation";
import { useEffect, useEffectEvent, useRef, useState, useTransition } from "react";
import type { SiteId } from "#lib/site.ts";
import type { VersionTopic } from "#lib/tenancy/site-version.ts";
import { useSetClock } from "./clock.tsx";

const lookMs = 4000;
const lookMaxMs = 30_000;
/** The page may have waited in a tab or a cache, so the first question comes early. */
const firstLookMs = 500;
/** Some things change with time alone, such as a claim that gets stuck: they are read once a minute. */
const rereadMs = 60_000;

interface Answer {
  version: string;
  at: string;
}

export interface LiveOptions {
  siteId: SiteId;
  of: VersionTopic;
  /** The version that the server's page was drawn from. */
  version: string;
}

/**
 * Asks every few seconds, while somebody looks, whether what the server drew is still true, and lets it draw again when it is not.
 * A hidden tab is silent and asks at once when it is shown again. After a failure it asks less often.
 * Gives the reader's moment of the last answer, and whether the session has ended.
 */
export function useLive({ siteId, of, version }: LiveOptions): { heardAtMs: number | null; isSignedOut: boolean } {
  const router = useRouter();
  const [isRefreshing, startRefresh] = useTransition();
  const [heardAtMs, setHeardAtMs] = useState<number | null>(null);
  const [isSignedOut, setSignedOut] = useState(false);
  const drawnAtMs = useRef(0);
  const setClock = useSetClock();
  const hear = useEffectEvent(({ version: newest, at }: Answer, askedAtMs: number) => {
    const nowMs = Date.now();
    setClock(at, askedAtMs);
    setHeardAtMs(nowMs);
    setSignedOut(false);
    drawnAtMs.current ||= nowMs;
    if (isRefreshing || (newest === version && nowMs - drawnAtMs.current < rereadMs)) return;
    drawnAtMs.current = nowMs;
    startRefresh(() => router.refresh());
  });
  useEffect(() => {
    let waitMs = lookMs;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let asking: AbortController | undefined;
    async function look(): Promise<void> {
      asking?.abort();
      const own = new AbortController();
      asking = own;
      const askedAtMs = Date.now();
      try {
        const response = await fetch(`/api/sites/${siteId}/version?of=${of}`, { signal: own.signal });
        if (response.status === 401) setSignedOut(true);
        if (!response.ok) throw new Error(String(response.status));
        const answer: Answer = await response.json(); // our own route, checked where it was read
        waitMs = lookMs;
        hear(answer, askedAtMs);
      } catch {
        if (own.signal.aborted) return;
        waitMs = Math.min(2 * waitMs, lookMaxMs);
      }
      clearTimeout(timer);
      if (!document.hidden) timer = setTimeout(look, waitMs);
    }
    const wake = () => {
      clearTimeout(timer);
      if (document.hidden) asking?.abort();
      else void look();
    };
    if (!document.hidden) timer = setTimeout(look, firstLookMs);
    document.addEventListener("visibilitychange", wake);
    window.addEventListener("online", wake);
    return () => {
      clearTimeout(timer);
      asking?.abort();
      document.removeEventListener("visibilitychange", wake);
      window.removeEventListener("online", wake);
    };
  }, [siteId, of]);
  return { heardAtMs, isSignedOut };
}
