import { consentRequired, refused } from "./install.ts";
import { startPage } from "./listen.ts";
import { change, erase } from "./store.ts";
import { forgetPage } from "./view.ts";
import { keepClick } from "./visit.ts";

/** What the visitor agreed to; undefined where the site has no consent manager. */
export let scopes: string[] | undefined;
/** Whether anything may be stored or sent. */
export let active = false;

export function mayMarket(): boolean {
  return !scopes || scopes.includes("marketing");
}

/** A default of Consent Mode is no decision: it never erases what an earlier page was allowed to store. */
export function consent(granted?: string | string[], isDefault?: boolean): void {
  scopes = granted && ([] as string[]).concat(granted);
  active = !refused && (!scopes || scopes.includes("analytics"));
  if (active) {
    change((state) => {
      if (mayMarket()) keepClick(state, Date.now());
      else if (!isDefault) {
        delete state.g;
        state.q = state.q.filter((event) => event.consent_scopes && !event.consent_scopes.includes("marketing"));
      }
    });
    startPage();
  } else {
    erase();
    forgetPage();
  }
}

type ConsentCommand = [string, string, Record<string, unknown>?];

/** Google Consent Mode: what gtag('consent', …) says, now and before this script came. */
function followConsentMode(): void {
  const state: Record<string, boolean | undefined> = {};
  const hear = (entry?: ConsentCommand) => {
    if (entry?.[0] !== "consent") return;
    const settings = entry[2] || {};
    const isUpdate = entry[1] === "update";
    for (const name of ["analytics_storage", "ad_storage"]) {
      const granted = settings[name] === "granted";
      if (!settings[name]) continue;
      if (isUpdate || !granted) state[name] = granted;
      // Which region the visitor is in is Google's knowledge: a default for one region grants nothing here.
      else if (!settings.region) state[name] ??= true;
    }
    const { analytics_storage: analytics, ad_storage: ads } = state;
    if (analytics || (isUpdate && settings.analytics_storage))
      consent([...(analytics ? ["analytics"] : []), ...(ads ? ["marketing"] : [])], !isUpdate);
  };
  const host = window as { dataLayer?: ConsentCommand[] };
  const layer = (host.dataLayer ||= []);
  layer.forEach(hear);
  const { push } = layer;
  layer.push = (...entries) => {
    entries.forEach(hear);
    return push.apply(layer, entries);
  };
}

export function beginConsent(): void {
  if (refused) consent([]);
  else if (consentRequired) followConsentMode();
  else consent();
}
