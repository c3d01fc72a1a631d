import { active } from "./consent.ts";
import { endpoint, site } from "./install.ts";
import { dayMs, load, save, stored, storeKey } from "./store.ts";

const batchMax = 20;
// Browsers allow 64 KiB for requests that outlive the page, and a character takes up to three bytes.
const batchMaxChars = 2e4;

/** The ids of events that this page is sending. */
let inFlight = "";
let timer: ReturnType<typeof setTimeout> | undefined;

export function flushSoon(delayMs: number): void {
  timer ||= setTimeout(flush, delayMs);
}

/** One tab at a time sends, because all of them share the queue. */
export function flush(): void {
  clearTimeout(timer);
  timer = undefined;
  // Where storage is blocked, locks are refused.
  navigator.locks.request(storeKey, send).catch(send);
}

/** A page that goes away cannot wait for a lock: it sends a second copy at worst, which the server knows by its eid. */
export async function send(): Promise<void> {
  load();
  const now = Date.now();
  const waitMs = (stored.w as number) - now;
  const batch = stored.q.filter((event) => !inFlight.includes(event.eid)).slice(0, batchMax);
  while (batch[1] && JSON.stringify(batch).length > batchMaxChars) batch.pop();
  if (!active || !batch[0]) return;
  // More than a day is a clock that was wrong when it was written.
  if (waitMs > 0 && waitMs < dayMs) return flushSoon(waitMs);

  const ids = `${batch.map((event) => event.eid)}`;
  inFlight += ids;
  // A text body and no header of ours: a request without a preflight.
  const body = JSON.stringify({ s: site, events: batch.map((event) => ({ ...event, t: now - event.t })) });
  const [status, retryAfterSeconds] = await fetch(endpoint as URL, { method: "POST", body, keepalive: true, credentials: "omit" }).then(
    (response) => [response.status, +(response.headers.get("retry-after") as string)] as const,
    () => [500, 0] as const, // no answer is no better than a failure
  );
  inFlight = inFlight.replace(ids, "");
  // Consent was withdrawn meanwhile: nothing may be written.
  if (!active) return;
  load();
  if (status !== 429 && status < 500) {
    stored.q = stored.q.filter((event) => !ids.includes(event.eid));
    stored.n = stored.w = 0;
  } else {
    const pauseSeconds = Math.min(retryAfterSeconds || (status === 429 ? 600 : 0), 8e4);
    // Without a pause: 1-2 s, 2-4 s, … 2-4 min.
    stored.n = pauseSeconds ? 0 : Math.min((stored.n || 0) + 1, 8);
    stored.w = Date.now() + pauseSeconds * 1e3 + 500 * 2 ** stored.n * (1 + Math.random());
  }
  save();
  flush();
}
