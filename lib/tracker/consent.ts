import { refused } from "./install.ts";
import { erase, save, stored } from "./store.ts";
import { forgetPage, viewPage } from "./view.ts";
import { keepVisit } from "./visit.ts";

/** What the visitor agreed to; undefined where the site has no consent manager. */
export let scopes: string[] | undefined;
/** Whether anything may be stored or sent. */
export let active: boolean | undefined;
/** Whether click ids may be. */
export let marketing: boolean | undefined;

/** A default of Consent Mode is no decision: it never erases what an earlier page was allowed to store. */
export function consent(granted?: string[], isDefault?: boolean): void {
  scopes = granted;
  const allows = (scope: string) => !granted || granted.includes(scope);
  active = !refused && allows("analytics");
  marketing = allows("marketing");
  if (active) {
    keepVisit();
    if (!marketing && !isDefault && stored.g) {
      stored.g = null;
      stored.q = [];
    }
    save();
    viewPage();
  } else {
    erase();
    forgetPage();
  }
}

type ConsentCommand = [string, string, Record<string, unknown>?];

/** Google Consent Mode: what gtag('consent', …) says, from now on and before this script came. */
export function followConsentMode(): void {
  let analytics: boolean | undefined;
  let ads: boolean | undefined;
  const hear = (entry?: ConsentCommand) => {
    if (entry?.[0] !== "consent") return;
    const { analytics_storage, ad_storage, region } = entry[2] || {};
    const isUpdate = entry[1] === "update";
    // Which region a visitor is in is Google's knowledge: a default for one grants nothing, and a denial anywhere holds.
    const decide = (value: unknown, before: boolean | undefined) =>
      value ? value === "granted" && (isUpdate || (!region && before !== false)) : before;
    analytics = decide(analytics_storage, analytics);
    ads = decide(ad_storage, ads);
    if (analytics) consent(ads ? ["analytics", "marketing"] : ["analytics"], !isUpdate);
    else if (isUpdate && analytics_storage) consent([]);
  };
  const host = window as { dataLayer?: ConsentCommand[] };
  const layer = host.dataLayer || [];
  host.dataLayer = layer;
  const { push } = layer;
  layer.forEach(hear);
  layer.push = (...entries) => {
    entries.forEach(hear);
    return push.apply(layer, entries);
  };
}
