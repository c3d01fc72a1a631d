import type { IngestSite } from "./site-cache.ts";

interface Consent {
  /** Whether the event may be stored at all. */
  analytics: boolean;
  /** Whether it may ever reach Google. Without it no click id and no phone number is kept. */
  marketing: boolean;
}

/** A site without a consent manager sends no scopes and stands for both itself; scopes that are sent always count. */
export function consentOf(scopes: readonly string[] | undefined, mode: IngestSite["consentMode"]): Consent {
  if (!scopes) return { analytics: mode === "off", marketing: mode === "off" };
  return { analytics: scopes.includes("analytics"), marketing: scopes.includes("marketing") };
}
