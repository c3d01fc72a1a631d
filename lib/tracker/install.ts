declare global {
  interface Navigator {
    globalPrivacyControl?: boolean;
  }
}

/** What the install snippet says. */
const script = document.currentScript as HTMLScriptElement | null;
const { site, consent, dnt, views } = script?.dataset || {};

export { site };
export const endpoint = (path: string) => new URL(path, script?.src);
/** Page views that came with an ad click are reported on their own. */
export const reportsViews = views != null;
export const consentRequired = consent === "required";
/**
 * The visitor asked not to be tracked, and the site respects that; or the page came without TLS: the server refuses its
 * events, and the browser offers neither random ids nor locks.
 */
export const refused = !crypto.randomUUID || (dnt === "respect" && (navigator.doNotTrack === "1" || navigator.globalPrivacyControl));
