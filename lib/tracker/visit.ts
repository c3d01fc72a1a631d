import { dayMs, type Stored } from "./store.ts";

const sessionMs = 18e5;
const clickDays = 90;
// Longer or stranger values are not click ids, and the server would refuse the event for them.
const clickName = /^(gclid|[gw]braid)$/;
const clickValue = /^[\w.-]{1,512}$/;
const utmName = /^utm_(source|medium|campaign|content|term)$/;
const utmValue = /^.{1,255}$/;

let landedClick: Record<string, string> | undefined;
let landedUtm: Record<string, string> | undefined;

/** crypto.randomUUID is missing on pages without TLS. */
export function uuid(): string {
  return "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (digit) =>
    (+digit ^ ((crypto.getRandomValues(new Uint8Array(1))[0] as number) & (15 >> (+digit / 4)))).toString(16),
  );
}

/** Values from the query or the fragment; the query wins. */
function pick(name: RegExp, value: RegExp): Record<string, string> | undefined {
  let found: Record<string, string> | undefined;
  new URLSearchParams(location.href.replace(/[?#]/g, "&")).forEach((text, key) => {
    if (name.test(key) && value.test(text)) found = { [key]: text, ...found };
  });
  return found;
}

/** Remembers in memory what the address says, until the visitor's consent allows to store it. */
export function readAddress(): void {
  landedClick = pick(clickName, clickValue) || landedClick;
  landedUtm = pick(utmName, utmValue) || landedUtm;
}

export function keepClick(state: Stored, now: number): void {
  // A reload or the back button shows the same click again: its age counts from the first time.
  if (landedClick && JSON.stringify(landedClick) !== JSON.stringify({ ...state.g, cts: undefined })) state.g = { ...landedClick, cts: now };
  landedClick = undefined;
  // Older than what Google accepts, and never this visit's reason.
  if (Math.abs(now - ((state.g?.cts as number) || 0)) > clickDays * dayMs) delete state.g;
}

export function keepSession(state: Stored, now: number): void {
  state.v ||= uuid();
  if (!state.s || Math.abs(now - (state.a || 0)) > sessionMs) {
    state.s = uuid();
    delete state.m;
  }
  state.a = now;
  state.m = landedUtm || state.m;
  landedUtm = undefined;
}
