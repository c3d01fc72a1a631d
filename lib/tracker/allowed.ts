import { refused } from "./install.ts";
import { forgetPage } from "./page.ts";
import { forget, load, stored, withoutClicks } from "./store.ts";

/** What the visitor agreed to; undefined where the site has no consent manager. */
export let scopes: string[] | undefined;
/** Whether anything may be stored or sent. */
export let active: boolean | undefined;
/** Whether click ids may be. */
export let marketing: boolean | undefined;

export const withoutMarketing = ["analytics"];

/** Only a decision can undo a refusal of marketing. */
export function allow(granted: string[] | undefined, isDecision: boolean | undefined): void {
  scopes = !isDecision && stored.k ? withoutMarketing : granted;
  const allows = (scope: string) => !scopes || scopes.includes(scope);
  active = !refused && allows("analytics");
  marketing = active && allows("marketing");
}

/** Loads, and follows the visitor's choice in another tab. True if this tab is still active. */
export function reload(): boolean | undefined {
  const { v } = stored;
  load();
  if (stored.k) {
    scopes = withoutMarketing;
    marketing = false;
  }
  if (v && !stored.v && stored.c) leave();
  return active;
}

/** Consent was withdrawn in another tab. What is stored belongs to that tab's choice. */
export function leave(): void {
  active = marketing = false;
  forget();
  forgetPage();
}

export const bounded = (url: string) => (marketing ? url : withoutClicks(url)).slice(0, 2048);
