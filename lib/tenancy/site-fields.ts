import { z } from "zod";
import { boundedText } from "#lib/platform/bounded-text.ts";
import { consentModes, storedSiteId, syncMethods } from "#lib/site.ts";
import { currencyDecimals } from "#lib/valuation/currencies.ts";
import { keyScopes, siteRoles } from "./site-roles.ts";

const hostname = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;

/**
 * A bare host from whatever a person pastes: `https://www.Örnek.com:8080/x` becomes `xn--rnek-4qa.com`. The gate takes a host and its www,
 * so one leading www is dropped; of `www.com` it is the name itself.
 */
function toHostname(text: string): string {
  const withScheme = /^[a-z]+:\/\//i.test(text) ? text : `https://${text}`;
  if (!URL.canParse(withScheme)) return text;
  const host = new URL(withScheme).hostname.replace(/\.$/, "");
  return host.replace(/^www\.(?=[^.]+\.)/, "");
}

export const isHostname = (host: string) => host.length <= 253 && hostname.test(host);

const domain = z
  .string()
  .trim()
  .min(1, "REQUIRED")
  .max(253, "TOO_LONG")
  .transform(toHostname)
  .refine((host) => host === "localhost" || isHostname(host), "INVALID_DOMAIN");

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return /^[A-Z]/.test(name);
  } catch {
    return false;
  }
}

const averageOrder = z.int("REQUIRED").min(1, "OUT_OF_RANGE").max(100_000_000_000, "OUT_OF_RANGE");

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

/** A new site says whether its visitors are asked first and what an average order is worth; nothing is assumed. */
export const newSite = siteInput.extend({ consentMode: z.enum(consentModes, "REQUIRED"), defaultAovCents: averageOrder });

/** One more domain. */
export const siteDomain = z.strictObject({ domain });

/** Another currency needs the average order in it. SQL knows whether it is another. */
export const siteUpdate = siteInput.extend({ defaultAovCents: averageOrder.optional() });

export const memberRole = z.object({ role: z.enum(siteRoles, "REQUIRED") });
export const memberInvite = memberRole.extend({
  email: z.string("REQUIRED").trim().toLowerCase().max(254, "TOO_LONG").pipe(z.email("INVALID_EMAIL")),
});
export const sitePrivacy = z.object({ consentMode: z.enum(consentModes, "REQUIRED"), respectsPrivacySignal: z.boolean("REQUIRED") });

const scopes = z.array(z.enum(keyScopes), "REQUIRED").min(1, "REQUIRED").max(keyScopes.length, "TOO_MANY");
export const apiKeyInput = z.object({ name: boundedText(60), scopes: scopes.default(["script"]) });
export const apiKeyScopes = z.strictObject({ scopes });

export const pause = z.object({ until: z.string(), reason: z.string() });
export type Pause = z.output<typeof pause>;

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
  /** While an owner's pause lasts, nothing is handed out for sending. */
  pause: pause.nullable(),
});
export type SiteSummary = z.output<typeof siteSummary>;
