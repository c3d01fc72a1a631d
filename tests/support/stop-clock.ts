import { vi } from "vitest";

/**
 * Makes the present moment stand still, where what is counted must fall into one window: requests against a limit, identical events of a
 * time bucket. `step` moves on. End it with vi.useRealTimers().
 */
export function stopClock(at: number = Date.now()): { step(ms: number): void } {
  vi.useFakeTimers({ toFake: ["Date"], now: at });
  return { step: (ms) => void vi.setSystemTime(Date.now() + ms) };
}
