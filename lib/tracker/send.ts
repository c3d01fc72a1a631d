import { active } from "./allowed.ts";
import { endpoint, site } from "./install.ts";
import { trackerVersion } from "./releases.ts";
import { dayMs, keep, load, save, stored, storeKey, type TrackedEvent } from "./store.ts";

const batchMax = 20;
// Browsers allow 64 KiB for requests that outlive the page, and a character takes up to three bytes.
const batchMaxChars = 2e4;

/** What this page recorded. */
export const own: TrackedEvent[] = [];
/** The ids of what this page is sending, or has sent with success. */
let sent = "";
let timer: ReturnType<typeof setTimeout> | undefined;

/** A text body and no extra header: a request without a preflight. To another origin it carries no cookies. */
export const post = (path: string, body: string) => fetch(endpoint(path), { method: "POST", body, keepalive: true });

export function flushSoon(delayMs: number): void {
  timer ||= setTimeout(flush, delayMs);
}

/** One tab at a time sends, because all of them share the queue. */
export function flush(): void {
  timer = clearTimeout(timer) as undefined;
  // Where storage is blocked, locks are refused.
  navigator.locks.request(storeKey, send).catch(send);
}

/**
 * Called with a lock, or with the reason why there is none; with neither for a page that is being left, which cannot wait for its turn. At worst
 * it sends a second copy, which the server recognises by its eid.
 */
export async function send(turn?: unknown): Promise<unknown> {
  // Firefox before 133 ends the requests of a page that is left, also those under way. A beacon outlives it but gets no answer: the
  // events stay queued, and the next page learns that the server has them.
  const beacon = !(turn || "keepalive" in Request.prototype);
  load();
  // Browsers report writes to other tabs late, so another tab may have overwritten this page's newest events. Events of an earlier visitor belong
  // to a consent that was withdrawn.
  keep(stored.q.concat(own.slice(-batchMax).filter((event) => event.meta.fp === stored.v && !JSON.stringify(stored).includes(event.eid))));
  const now = Date.now();
  const waitMs = (stored.w as number) - now;
  // Choices are sent before events, and without consent only choices are sent.
  const choice = stored.c?.[0];
  const batch = stored.q.filter((event) => beacon || !sent.includes(event.eid)).slice(0, batchMax);
  while (batch[1] && JSON.stringify(batch).length > batchMaxChars) batch.pop();
  if (!choice && !(active && batch[0])) return;
  // More than a day means that the clock was wrong.
  if (waitMs > 0 && waitMs < dayMs) return flushSoon(waitMs);

  const aged = <Item extends { t: number }>(item: Item) => ({ ...item, t: now - item.t });
  const body = JSON.stringify({ s: site, v: trackerVersion, ...(choice ? aged(choice) : { events: batch.map(aged) }) });
  if (beacon) return navigator.sendBeacon(endpoint("/api/sync"), body);
  const ids = choice ? [choice.fp + choice.t] : batch.map(({ eid }) => eid);

  let status = 500; // no answer is no better than a failure
  let pauseSeconds = 0;
  let done = ids;
  sent += ids;
  try {
    const response = await post("/api/sync", body);
    status = response.status;
    pauseSeconds = Math.min(+(response.headers.get("retry-after") as string) || (status === 429 ? 600 : 0), 8e4);
    const { results } = await response.json();
    // Events over the plan stay queued: sent again alone, they get a 429.
    done = ids.filter((_id, index) => results[index] !== "quota");
  } catch {
    // The network failed, or the answer is one without results.
  }
  sent = sent.replace(`${ids}`, "");
  // Where consent was withdrawn meanwhile, no visitor is stored, and save() writes choices alone.
  load();
  if (!pauseSeconds && status < 500) {
    stored.q = stored.q.filter((event) => !done.includes(event.eid));
    stored.c = stored.c?.filter(({ fp, t }) => !done.includes(fp + t));
    sent += done;
    stored.n = stored.w = 0;
  } else {
    // Without a pause: 1-2 s, 2-4 s, … 2-4 min.
    stored.n = pauseSeconds ? 0 : Math.min((stored.n || 0) + 1, 8);
    stored.w = Date.now() + pauseSeconds * 1e3 + 500 * 2 ** stored.n * (1 + Math.random());
  }
  save();
  flush();
}
