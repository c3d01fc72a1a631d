import type { SiteId } from "#lib/site.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";
import { tracker } from "./tracker.gen.ts";

interface Snippet {
  appUrl: string;
  siteId: SiteId;
  /** "required": nothing is stored or sent before the visitor agrees. */
  consent?: "required";
  /** "respect": a visitor with Do Not Track or Global Privacy Control is left alone. */
  dnt?: "respect";
  /** "on": page views that came with an ad click are reported, as the site's Settings ask for. */
  views?: "on";
}

/** The line of HTML that a customer puts into the head of every page. */
export function installSnippet({ appUrl, siteId, consent, dnt, views }: Snippet): string {
  // It goes into other people's pages: nothing but an id may stand there.
  if (!/^[0-9a-f]{32}$/.test(siteId)) throw new TypeError("A public id has 32 hexadecimal digits.");
  const attributes = {
    src: new URL(tracker.path, appUrl).href,
    "data-site": siteId,
    ...(consent && { "data-consent": consent }),
    ...(dnt && { "data-dnt": dnt }),
    ...(views && { "data-views": views }),
    integrity: tracker.integrity,
    crossorigin: "anonymous",
  };
  const written = Object.entries(attributes).map(([name, value]) => `${name}="${value}"`);
  return `<script defer ${written.join(" ")}></script>`;
}

/** The same, as the settings of a site ask for. */
export function snippetOfSite(
  appUrl: string,
  { siteId, consentMode, respectsPrivacySignal }: Pick<SiteSummary, "siteId" | "consentMode" | "respectsPrivacySignal">,
  reportsViews: boolean,
): string {
  return installSnippet({
    appUrl,
    siteId,
    ...(consentMode === "required" && { consent: "required" }),
    ...(respectsPrivacySignal && { dnt: "respect" }),
    ...(reportsViews && { views: "on" }),
  });
}
