import { marketing } from "./allowed.ts";
import { dayMs, stored } from "./store.ts";

const sessionMs = 18e5;
const clickDays = 90;

let landedClick: Record<string, string> | null;
let landedUtm: Record<string, string> | null;

/** Remembers in memory what the query and the fragment say, until consent allows to store it. */
export function readAddress(): void {
  new URLSearchParams(location.href.replace(/[?#]/g, "&")).forEach((value, key) => {
    const bounded = value.slice(0, 512);
    if (value && /^(gclid|[gw]braid)$/.test(key)) landedClick = { ...landedClick, [key]: bounded };
    if (/^utm_/.test(key)) landedUtm = { ...landedUtm, [key]: bounded };
  });
}

/** Stores who this is and what led here, as far as consent allows. */
export function keepVisit(): void {
  const now = Date.now();
  stored.v ||= crypto.randomUUID();
  // Neither a long pause nor a clock that was set back continues a session.
  if (!(Math.abs(now - (stored.a as number)) < sessionMs)) {
    stored.s = crypto.randomUUID();
    stored.m = null;
  }
  stored.a = now;
  stored.m = landedUtm || stored.m;
  landedUtm = null;
  if (!marketing) return;
  // A reload or the back button shows the same click again: its age counts from the first time.
  if (landedClick && Object.values(landedClick)[0] !== Object.values(stored.g || 0)[0]) {
    stored.g = { ...landedClick, cts: now };
    stored.p = stored.s;
  }
  landedClick = null;
  // Older than Google accepts, and never what began this visit.
  if (stored.g && Math.abs(now - (stored.g.cts as number)) > clickDays * dayMs) stored.g = null;
}
