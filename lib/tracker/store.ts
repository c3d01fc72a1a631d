import { site } from "./install.ts";
import type { TrackedEvent } from "./track.ts";

/** All that is kept in the browser, under one key. The names are short because every visitor downloads them. */
export interface Stored {
  /** Visitor id. */
  v?: string;
  /** Session id, and when its last event was. */
  s?: string;
  a?: number;
  /** Click ids, with the time they were first seen. */
  g?: Record<string, string | number> | null;
  /** utm_* of this session. */
  m?: Record<string, string> | null | undefined;
  /** Events that the server has not confirmed, oldest first. */
  q: TrackedEvent[];
  /** Failures in a row, and when to try again. */
  n?: number;
  w?: number;
}

export const dayMs = 864e5;
export const storeKey = `om_${site}`;
export let stored: Stored = { q: [] };
let unwritable: boolean | undefined;

/** What cannot be read (blocked storage, another script's text) leaves this page's own copy in force. */
export function load(): void {
  try {
    if (!unwritable) stored = JSON.parse(localStorage[storeKey] || 0) || {};
  } catch {
    // The copy in memory is good.
  }
  // A day is as long as the server is asked to take an event; one from far in the future had a wrong clock.
  stored.q = (stored.q || []).filter((event) => Math.abs(Date.now() - event.t) < dayMs);
}

/** To be called right after load() and an edit, so that another tab's events are not overwritten. */
export function save(): void {
  try {
    localStorage[storeKey] = JSON.stringify(stored);
  } catch {
    // Full or blocked: from here on only memory is true.
    unwritable = true;
  }
}

export function erase(): void {
  stored = { q: [] };
  try {
    delete localStorage[storeKey];
  } catch {
    // Blocked storage has nothing to erase.
  }
}
