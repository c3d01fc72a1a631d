import { marketing } from "./consent.ts";
import { dayMs, stored } from "./store.ts";

const clickDays = 90;

let landedClick: Record<string, string> | undefined;
let landedUtm: Record<string, string> | undefined;

/** Values from the query or the fragment; the query wins. */
function pick(name: RegExp): Record<string, string> | undefined {
  let found: Record<string, string> | undefined;
  new URLSearchParams(location.href.replace(/[?#]/g, "&")).forEach((value, key) => {
    if (value && name.test(key)) found = { [key]: value.slice(0, 512), ...found };
  });
  return found;
}

/** Remembers in memory what the address says, until consent allows to store it. */
export function readAddress(): void {
  landedClick = pick(/^(gclid|[gw]braid)$/) || landedClick;
  landedUtm = pick(/^utm_(source|medium|campaign|content|term)$/) || landedUtm;
}

/** Stores what led here, as far as consent allows. */
export function keepLanding(now: number): void {
  stored.m = landedUtm || stored.m;
  landedUtm = undefined;
  if (!marketing) return;
  // A reload or the back button shows the same click again: its age counts from the first time.
  if (landedClick && Object.values(landedClick)[0] !== Object.values(stored.g || {})[0]) stored.g = { ...landedClick, cts: now };
  landedClick = undefined;
  // Older than what Google accepts, and never this visit's reason.
  if (stored.g && Math.abs(now - (stored.g.cts as number)) > clickDays * dayMs) stored.g = undefined;
}
