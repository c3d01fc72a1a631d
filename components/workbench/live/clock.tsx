"use client";

import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";

interface ServerClock {
  /** The server's moment at which the page was first drawn. */
  startedAt: string;
  /** Server time minus the reader's: a phone's clock may be minutes off, and an undo runs out by the server's. */
  offsetMs: number;
  isRunning: boolean;
}

const ClockContext = createContext<ServerClock>({ startedAt: "", offsetMs: 0, isRunning: true });

/** Gives a page the server's time, from the first drawing. A slow phone takes it over late; the page's first question corrects that. */
export function Clock({ at, children }: { at: string; children: ReactNode }) {
  const [startedAt] = useState(at);
  // One object for good: setting it must not draw the page again.
  const clock = useMemo<ServerClock>(() => ({ startedAt, offsetMs: 0, isRunning: false }), [startedAt]);
  useEffect(() => {
    clock.offsetMs = Date.parse(startedAt) - Date.now();
    clock.isRunning = true;
  }, [clock, startedAt]);
  return <ClockContext value={clock}>{children}</ClockContext>;
}

/** The server's time, moving on by steps. The first paint uses the server's own moment, so that both agree. */
export function useNow(stepMs: number, isNeeded = true): Date {
  const clock = useContext(ClockContext);
  const [now, setNow] = useState(() => new Date(clock.isRunning ? Date.now() + clock.offsetMs : clock.startedAt));
  useEffect(() => {
    if (!isNeeded) return;
    const tick = () => setNow(new Date(Date.now() + clock.offsetMs));
    const first = setTimeout(tick, 0); // after the provider's own effect
    const timer = setInterval(tick, stepMs);
    return () => {
      clearTimeout(first);
      clearInterval(timer);
    };
  }, [clock, stepMs, isNeeded]);
  return now;
}

/** Reads the server's time when something happens, without drawing anything again. */
export function useServerTime(): () => Date {
  const clock = useContext(ClockContext);
  return () => new Date(Date.now() + clock.offsetMs);
}

/** Sets the clock by an answer that names the server's moment: it lay between the question and now. */
export function useSetClock(): (at: string, askedAtMs: number) => void {
  const clock = useContext(ClockContext);
  return (at, askedAtMs) => {
    const atMs = Date.parse(at);
    clock.offsetMs = Math.min(atMs - askedAtMs, Math.max(atMs - Date.now(), clock.offsetMs));
  };
}

/** Gives what stands outside of the page, such as a toast, the page's clock. */
export function useClocked(): (children: ReactNode) => ReactNode {
  const clock = useContext(ClockContext);
  return (children) => <ClockContext value={clock}>{children}</ClockContext>;
}
