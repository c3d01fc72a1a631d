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

function attributesOf({ appUrl, siteId, consent, dnt, views }: Snippet): Record<string, string> {
  // It goes into other people's pages: nothing but an id may stand there.
  if (!/^[0-9a-f]{32}$/.test(siteId)) throw new TypeError("A public id has 32 hexadecimal digits.");
  return {
    src: new URL(tracker.path, appUrl).href,
    "data-site": siteId,
    ...(consent && { "data-consent": consent }),
    ...(dnt && { "data-dnt": dnt }),
    ...(views && { "data-views": views }),
    integrity: tracker.integrity,
    crossorigin: "anonymous",
  };
}

const written = (attributes: Record<string, string>, between = " ") =>
  Object.entries(attributes)
    .map(([name, value]) => `${name}="${value}"`)
    .join(between);

/** The line of HTML that a customer puts into the head of every page. */
export function installSnippet(snippet: Snippet): string {
  return `<script defer ${written(attributesOf(snippet))}></script>`;
}

export const snippetPlaces = ["html", "gtm", "wordpress", "next"] as const;
type SnippetPlace = (typeof snippetPlaces)[number];

/** The same for where the website is made. Tag Manager drops attributes that it does not know, so there the script sets them itself. */
export function snippetsOfSite(...of: Parameters<typeof snippetOfSite>): Record<SnippetPlace, string> {
  const attributes = attributesOf(snippetSettings(...of));
  const html = `<script defer ${written(attributes)}></script>`;
  const lines = Object.entries(attributes).map(([name, value]) => `  s.setAttribute("${name}", "${value}");`);
  return {
    html,
    gtm: `<script>\n(function () {\n  var s = document.createElement("script");\n${lines.join("\n")}\n  document.head.appendChild(s);\n})();\n</script>`,
    wordpress: `add_action('wp_head', function () {\n  echo '${html}';\n});`,
    next: `import Script from "next/script";\n\n<Script\n  strategy="afterInteractive"\n  ${written(attributes, "\n  ").replace("crossorigin=", "crossOrigin=")}\n/>`,
  };
}

function snippetSettings(
  appUrl: string,
  { siteId, consentMode, respectsPrivacySignal }: Pick<SiteSummary, "siteId" | "consentMode" | "respectsPrivacySignal">,
  reportsViews: boolean,
): Snippet {
  return {
    appUrl,
    siteId,
    ...(consentMode === "required" && { consent: "required" }),
    ...(respectsPrivacySignal && { dnt: "respect" }),
    ...(reportsViews && { views: "on" }),
  };
}

/** The line as the settings of a site ask for it. */
export const snippetOfSite = (...of: Parameters<typeof snippetSettings>) => installSnippet(snippetSettings(...of));
