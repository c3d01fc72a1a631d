import { active, allow, bounded, marketing, withoutMarketing } from "./allowed.ts";
import { forgetPage, shownPage } from "./page.ts";
import { flush } from "./send.ts";
import { erase, keep, load, save, stored } from "./store.ts";
import { reportView, viewPage } from "./track.ts";
import { keepVisit } from "./visit.ts";

/**
 * A default of Consent Mode, or a site without a consent manager, is no decision: it never erases what an earlier page was allowed to
 * store, and never undoes a refusal of marketing.
 */
export function consent(granted?: string[], isDefault?: boolean): void {
  load();
  const isDecision = granted && !isDefault;
  allow(granted, isDecision);
  if (isDecision && stored.v && !(active && (marketing || stored.k))) {
    // The server must learn of a withdrawal. A newer choice of the same visitor includes the older one.
    stored.c = (stored.c || [])
      .filter(({ fp }) => fp !== stored.v)
      .slice(-99)
      .concat({ fp: stored.v, consent_scopes: granted, t: Date.now(), u: bounded(shownPage()) });
    flush();
  }
  if (active) {
    if (isDecision) {
      stored.k = !marketing;
      if (!marketing) stored.g = null;
      keep(stored.q);
    }
    keepVisit();
    save();
    viewPage();
    reportView();
  } else {
    // Without a visitor there is nothing but choices, and a pause the server asked for.
    if (stored.v) erase();
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
    // Only Google knows the visitor's region: a default for one region grants nothing, and a denial for any region counts.
    const decide = (value: unknown, before: boolean | undefined) =>
      value ? value === "granted" && (isUpdate || (!region && before !== false)) : before;
    analytics = decide(analytics_storage, analytics);
    ads = decide(ad_storage, ads);
    // An update that says nothing of ads decides nothing about them.
    if (analytics) consent(ads ? ["analytics", "marketing"] : withoutMarketing, !(isUpdate && ad_storage));
    else if (isUpdate && analytics_storage) consent([]);
  };
  // biome-ignore lint/suspicious/noAssignInExpressions: shorter, and every visitor downloads it.
  const layer = ((window as { dataLayer?: ConsentCommand[] }).dataLayer ||= []);
  const { push } = layer;
  layer.forEach(hear);
  layer.push = (...entries) => {
    entries.forEach(hear);
    return push.apply(layer, entries);
  };
}
