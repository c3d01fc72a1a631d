import type { SiteId } from "#lib/site.ts";
import "server-only";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** next.config.ts puts the file beside the page that shows it. */
const scriptFile = join(process.cwd(), "scripts/google-ads-oci/GoogleAdsScript.js");

let source: string | undefined;

function scriptSource(): string {
  source ??= readFileSync(scriptFile, "utf8");
  return source;
}

export function currentScriptVersion(): string {
  return /SCRIPT_VERSION = "([\d.]+)"/.exec(scriptSource())?.[1] ?? "0";
}

/** The script as a customer pastes it: the address and the site are filled in, the key is left to them. */
export function customerScript({ siteId, appUrl }: { siteId: SiteId; appUrl: string }): string {
  return scriptSource()
    .replace('var OPSMANTIK_SITE_ID = ""', `var OPSMANTIK_SITE_ID = ${JSON.stringify(siteId)}`)
    .replace("{{OPSMANTIK_BASE_URL}}", new URL(appUrl).origin);
}
