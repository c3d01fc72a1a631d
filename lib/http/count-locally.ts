/** How many callers one process remembers while Redis is down; beyond that it forgets the oldest. */
const rememberedCallersMax = 10_000;

const windows = new Map<string, { endsAt: number; count: number }>();

/** For what was counted here and turned out not to count. */
export function uncountLocally(key: string, units: number): void {
  const window = windows.get(key);
  if (window) window.count = Math.max(0, window.count - units);
}

/** A fixed window in this process's memory: what protects a fail-open route while Redis is down. */
export function countLocally(key: string, limit: { max: number; windowSeconds: number; units: number }, now = Date.now()) {
  let window = windows.get(key);
  if (!window || window.endsAt <= now) {
    window = { endsAt: now + limit.windowSeconds * 1000, count: 0 };
    windows.delete(key); // re-inserted at the end, so that the first entry is always the oldest
    windows.set(key, window);
    const oldest = windows.keys().next().value;
    if (windows.size > rememberedCallersMax && oldest !== undefined) windows.delete(oldest);
  }
  const allowed = window.count + limit.units <= limit.max;
  if (allowed) window.count += limit.units;
  return { allowed, retryAfterSeconds: Math.max(1, Math.ceil((window.endsAt - now) / 1000)) };
}
