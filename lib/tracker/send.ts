import { active } from "./consent.ts";
import { endpoint, site } from "./install.ts";
import { change, dayMs, load, stored, storeKey } from "./store.ts";

const batchMax = 20;
// Browsers allow 64 KiB for requests that outlive the page; a character takes up to three bytes.
const bodyMaxChars = 2e4;
const requestTimeoutMs = 3e4;

const inFlight = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;

export function flushSoon(delayMs: number): void {
  timer ||= setTimeout(flush, delayMs);
}

/** One tab at a time sends: the queue is shared by all of them. */
export function flush(): void {
  clearTimeout(timer);
  timer = undefined;
  // Without TLS there are no locks, and blocked storage refuses them.
  if (navigator.locks) navigator.locks.request(storeKey, () => post()).catch(() => post());
  else post();
}

/** The page goes away and cannot wait for a lock. The events stay queued; the server knows a second copy by its eid. */
export function flushLeaving(): void {
  post(true);
}

async function post(leaving?: boolean): Promise<void> {
  load();
  const now = Date.now();
  const waitMs = (stored.w || 0) - now;
  const waiting = stored.q.filter((event) => !inFlight.has(event.eid));
  if (!active || !waiting[0]) return;
  // More than a day is a clock that was wrong when it was written.
  if (waitMs > 0 && waitMs <= dayMs) return flushSoon(waitMs);

  let count = batchMax;
  let body: string;
  do body = JSON.stringify({ s: site, events: waiting.slice(0, count).map((event) => ({ ...event, t: now - event.t })) });
  while (body.length > bodyMaxChars && (count >>= 1));
  const ids = waiting.slice(0, count || 1).map((event) => event.eid);

  for (const id of ids) inFlight.add(id);
  const { status, retryAfterSeconds } = await request(body, leaving);
  for (const id of ids) inFlight.delete(id);
  // Consent was withdrawn meanwhile: nothing may be written.
  if (!active) return;
  change((state) => {
    if (!status || status === 429 || status >= 500) {
      const pauseSeconds = Math.min(retryAfterSeconds || (status === 429 ? 600 : 0), 86400);
      state.n = pauseSeconds ? 0 : (state.n || 0) + 1;
      state.w =
        Date.now() +
        (pauseSeconds
          ? pauseSeconds * (1e3 + 50 * Math.random())
          : // 1-2 s, 2-4 s, … up to 2.5-5 min.
            Math.min(15e4, 500 * 2 ** (state.n as number)) * (1 + Math.random()));
    } else {
      state.q = state.q.filter((event) => !ids.includes(event.eid));
      state.n = state.w = 0;
    }
  });
  flush();
}

/** A text body without headers of our own is a request without a preflight. Status 0: no answer. */
async function request(body: string, leaving?: boolean): Promise<{ status: number; retryAfterSeconds?: number }> {
  try {
    if (leaving && !("keepalive" in Request.prototype)) return { status: +navigator.sendBeacon(endpoint as string, body) };
    const response = await fetch(endpoint as string, {
      method: "POST",
      body,
      keepalive: true,
      credentials: "omit",
      signal: AbortSignal.timeout?.(requestTimeoutMs),
    });
    return { status: response.status, retryAfterSeconds: +(response.headers.get("retry-after") as string) };
  } catch {
    return { status: 0 };
  }
}

/** The network is back: failures no longer count, but a pause that the server asked for does. */
export function flushOnline(): void {
  change((state) => {
    if (state.n) state.n = state.w = 0;
  });
  flush();
}
