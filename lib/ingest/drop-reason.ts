import { isbot } from "isbot";
import type { IngestSite } from "./site-cache.ts";

/** Why a whole request is turned away, whatever it says. Such events are neither stored nor billed, only counted. */
export function dropReason(site: IngestSite, headers: Headers): "bot" | "privacy_signal" | null {
  if (isbot(headers.get("user-agent"))) return "bot";
  if (site.respectsPrivacySignal && (headers.get("sec-gpc") === "1" || headers.get("dnt") === "1")) return "privacy_signal";
  return null;
}
