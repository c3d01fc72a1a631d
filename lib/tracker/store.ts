import { site } from "./install.ts";

/** One event as the server takes it; `t` is when it happened and becomes its age in milliseconds when it is sent. */
export interface TrackedEvent {
  eid: string;
  t: number;
  sid: string | undefined;
  u: string;
  r: string;
  ec: string;
  ea: string;
  el: string;
  ev: number;
  meta: Record<string, unknown>;
  consent_scopes: string[] | undefined;
}

/** A consent choice as the server takes it; `t` is when it was made and becomes its age in milliseconds when it is sent. */
interface Choice {
  fp: string;
  consent_scopes: string[];
  t: number;
  u: string;
}

/** All that is kept in the browser, under one key. The names are short because every visitor downloads them. */
export interface Stored {
  /** Visitor id. */
  v?: string;
  /** Session id, and when its last event was. */
  s?: string;
  a?: number;
  /** Click ids, with the time they were first seen. */
  g?: Record<string, string | number> | null;
  /** The session that the click began. */
  p?: string | undefined;
  /** utm_* of this session. */
  m?: Record<string, string> | null | undefined;
  /** Events that the server has not confirmed, oldest first. */
  q: TrackedEvent[];
  /** Choices that the server has not confirmed, oldest first. They outlive everything else. */
  c?: Choice[] | undefined;
  /** The visitor refused marketing. */
  k?: boolean | undefined;
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
    // The copy in memory stays in use.
  }
  keep(stored.q || []);
}

/**
 * A day is as long as the server is asked to take an event; one from far in the future had a wrong clock. After a refusal of marketing, in
 * whichever tab, no click id waits.
 */
export function keep(events: TrackedEvent[]): void {
  stored.q = events.filter((event) => Math.abs(Date.now() - event.t) < dayMs);
  if (stored.k) stored.q = JSON.parse(withoutClicks(JSON.stringify(stored.q)));
}

/** Ad click ids are marketing data wherever they stand: in addresses, and in events written as JSON. */
export const withoutClicks = (text: string) => text.replace(/(clid|braid)(=|%3D|":")[^&#%"]*/gi, "$1$2");

/** To be called right after load() and an edit, so that another tab's events are not overwritten. Without a visitor and a choice nothing stays. */
export function save(): void {
  try {
    if (stored.v || stored.c?.[0]) localStorage[storeKey] = JSON.stringify(stored);
    else delete localStorage[storeKey];
  } catch {
    // Full or blocked: from here on only memory is true.
    unwritable = true;
  }
}

/** Forgets the visitor, on this page. Choices that the server has not confirmed stay. */
export function forget(): void {
  stored = { q: [], c: stored.c };
}

/** The same in the browser. If storage is full, a choice may not fit: it stays in memory, and the visitor is erased anyway. */
export function erase(): void {
  forget();
  save();
  try {
    if (unwritable) delete localStorage[storeKey];
  } catch {
    // Blocked storage has nothing to erase.
  }
}
