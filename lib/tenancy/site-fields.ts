import { z } from "zod";
import { boundedText } from "#lib/platform/bounded-text.ts";
import { consentModes, storedSiteId, syncMethods } from "#lib/site.ts";
import { currencyDecimals } from "#lib/valuation/currencies.ts";

/** In falling order of rights. */
export const siteRoles = ["owner", "operator", "viewer"] as const;
export type SiteRole = (typeof siteRoles)[number];

/** Whether a role includes another's rights. */
export function hasRole(role: SiteRole, needed: SiteRole): boolean {
  return siteRoles.indexOf(role) <= siteRoles.indexOf(needed);
}

const hostname = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;

/** A bare host from whatever a person pastes: `https://Örnek.com/x` becomes `xn--rnek-4qa.com`. */
function toHostname(text: string): string {
  const withScheme = /^[a-z]+:\/\//i.test(text) ? text : `https://${text}`;
  return URL.canParse(withScheme) ? new URL(withScheme).hostname : text;
}

const domain = z
  .string()
  .trim()
  .min(1, "REQUIRED")
  .max(253, "TOO_LONG")
  .transform(toHostname)
  .refine((host) => host === "localhost" || hostname.test(host), "INVALID_DOMAIN");

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return /^[A-Z]/.test(name);
  } catch {
    return false;
  }
}

export const siteInput = z.object({
  name: boundedText(80),
  domains: z
    .array(domain, "REQUIRED")
    .min(1, "REQUIRED")
    .max(20, "TOO_MANY")
    .transform((list) => [...new Set(list)]),
  currency: z.string("REQUIRED").refine((code) => currencyDecimals(code) !== null, "INVALID_CURRENCY"),
  timezone: z.string("REQUIRED").refine(isTimezone, "INVALID_TIMEZONE"),
  locale: z.enum(["tr", "en"], "REQUIRED"),
});

/** A new site says whether its visitors are asked first; nothing is assumed. */
export const newSite = siteInput.extend({ consentMode: z.enum(consentModes, "REQUIRED") });

/** Another currency needs the average order in it. SQL knows whether it is another. */
export const siteUpdate = siteInput.extend({
  defaultAovCents: z.int("REQUIRED").min(1, "OUT_OF_RANGE").max(100_000_000_000, "OUT_OF_RANGE").optional(),
});

export const memberRole = z.object({ role: z.enum(siteRoles, "REQUIRED") });
export const memberInvite = memberRole.extend({
  email: z.string("REQUIRED").trim().toLowerCase().max(254, "TOO_LONG").pipe(z.email("INVALID_EMAIL")),
});
export const sitePrivacy = z.object({ consentMode: z.enum(consentModes, "REQUIRED"), respectsPrivacySignal: z.boolean("REQUIRED") });

/** What a key may be used for, the least first. */
export const keyScopes = ["script", "calls", "sales", "contracts"] as const;
export type KeyScope = (typeof keyScopes)[number];
const scopes = z.array(z.enum(keyScopes), "REQUIRED").min(1, "REQUIRED").max(keyScopes.length, "TOO_MANY");
export const apiKeyInput = z.object({ name: boundedText(60), scopes: scopes.default(["script"]) });
export const apiKeyScopes = z.strictObject({ scopes });

export const siteSummary = z.object({
  siteId: storedSiteId,
  name: z.string(),
  domains: z.array(z.string()),
  currency: z.string(),
  timezone: z.string(),
  locale: z.enum(["tr", "en"]),
  role: z.enum(siteRoles),
  ociSyncMethod: z.enum(syncMethods),
  consentMode: z.enum(consentModes),
  respectsPrivacySignal: z.boolean(),
  createdAt: z.string(),
  archivedAt: z.string().nullable(),
});
export type SiteSummary = z.output<typeof siteSummary>;
