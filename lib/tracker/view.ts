import { active, marketing, scopes } from "./consent.ts";
import { reportsViews, site } from "./install.ts";
import { post } from "./send.ts";
import { stored } from "./store.ts";
import { track } from "./track.ts";
import { readAddress } from "./visit.ts";

/** The page that was last counted as a view. */
export let page = "";
export let referrer = document.referrer;
/** What counts once per page and has been counted. */
let counted: Record<string | number, boolean> = {};

/** The address without its fragment, which may hold secrets, unless the fragment is the route. */
export function shownPage(): string {
  return location.href.split(/#(?![/!])/)[0] as string;
}

/** Counts the page that is shown, if it is another than the last one counted. */
export function viewPage(): void {
  const shown = shownPage();
  if (!active || shown === page) return;
  referrer = page || referrer;
  page = shown;
  counted = {};
  readAddress();
  track("view", document.title);
  reportView();
}

/**
 * Reports the page that is shown, once, as soon as marketing is granted, if it belongs to the visit that an ad click began. Tried once: a
 * view is volume, and a lost one is nobody's lead.
 */
export function reportView(): void {
  if (!reportsViews || !marketing || !stored.g || stored.p !== stored.s || !firstOnPage("pv")) return;
  const { cts, ...click } = stored.g;
  post("/api/track/pv", JSON.stringify({ siteId: site, ...click, consent_scopes: scopes, fp: stored.v, t: 0 })).catch(() => {});
}

/** A new query on the same path is how sites tidy their address (and drop gclid), not a page. */
export function tidyPage(): void {
  const shown = shownPage();
  if (shown.split("?")[0] === page.split("?")[0]) page = shown;
}

/** The same page is a new view: after withdrawn consent, or out of the browser's cache. */
export function forgetPage(): void {
  page = "";
}

export function firstOnPage(what: string | number): boolean {
  const first = !counted[what];
  counted[what] = true;
  return first;
}
