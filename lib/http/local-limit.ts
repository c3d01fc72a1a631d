/** How many callers one process remembers while Redis is away; beyond it the oldest are forgotten. */
const rememberedCallersMax = 10_000;

const windows = new Map<string, { endsAt: number; count: number }>();

/** A fixed window in this process's memory: what protects a fail-open route while Redis is down. */
export function countLocally(key: string, limit: { requests: number; windowSeconds: number }, now = Date.now()) {
  let window = windows.get(key);
  if (!window || window.endsAt <= now) {
    window = { endsAt: now + limit.windowSeconds * 1000, count: 0 };
    windows.delete(key); // re-inserted at the end, so that the first entry is always the oldest
    windows.set(key, window);
    const oldest = windows.keys().next().value;
    if (windows.size > rememberedCallersMax && oldest !== undefined) windows.delete(oldest);
  }
  window.count += 1;
  return { allowed: window.count <= limit.requests, retryAfterSeconds: Math.max(1, Math.ceil((window.endsAt - now) / 1000)) };
}
