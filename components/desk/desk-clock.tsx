"use client";

import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";

interface Clock {
  /** The server's moment at which the page was made: what the first paint is true for. */
  startedAt: string;
  /** Server time minus the reader's; a phone's clock may be minutes off, and an undo runs out by the server's. */
  offsetMs: number;
  isRunning: boolean;
}

/** Toasts stand outside of the desk and go by the reader's own clock. */
const ClockContext = createContext<Clock>({ startedAt: "", offsetMs: 0, isRunning: true });

export function DeskClock({ asOf, children }: { asOf: string; children: ReactNode }) {
  // One object for good: setting it must not draw the desk again.
  const clock = useMemo<Clock>(() => ({ startedAt: asOf, offsetMs: 0, isRunning: false }), [asOf]);
  useEffect(() => {
    clock.offsetMs = Date.parse(clock.startedAt) - Date.now();
    clock.isRunning = true;
  }, [clock]);
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
