import { marketing } from "./consent.ts";
import { dayMs, stored } from "./store.ts";

const clickDays = 90;

let landedClick: Record<string, string> | undefined;
let landedUtm: Record<string, string> | undefined;

/** crypto.randomUUID is missing on pages without TLS. */
export function uuid(): string {
  return "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (digit) =>
    (+digit ^ ((Math.random() * 16) >> (+digit / 4))).toString(16),
  );
}

/** Values from the query or the fragment; the query wins. Longer or stranger ones would make the server refuse the event. */
function pick(name: RegExp, value: RegExp): Record<string, string> | undefined {
  let found: Record<string, string> | undefined;
  new URLSearchParams(location.href.replace(/[?#]/g, "&")).forEach((text, key) => {
    if (name.test(key) && value.test(text)) found = { [key]: text, ...found };
  });
  return found;
}

/** Remembers in memory what the address says, until consent allows to store it. */
export function readAddress(): void {
  landedClick = pick(/^(gclid|[gw]braid)$/, /^[\w.-]{1,512}$/) || landedClick;
  landedUtm = pick(/^utm_(source|medium|campaign|content|term)$/, /^.{1,255}$/) || landedUtm;
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
