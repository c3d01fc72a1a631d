import { env } from "#lib/env.ts";
import { log } from "#lib/platform/log.ts";
import { callGoogle, type GoogleAnswer } from "#lib/providers/google/call-google.ts";
import { googleHosts } from "#lib/providers/google/hosts.ts";
import type { ProviderConnection } from "#lib/providers/port.ts";

/** One method of the Google Ads API on the site's customer, for example `:uploadClickConversions`. */
export function callAds(method: string, body: unknown, connection: ProviderConnection, signal?: AbortSignal): Promise<GoogleAnswer> {
  const { customer_id, login_customer_id, developer_token } = connection.credentials;
  warnOfSunset(env().GOOGLE_ADS_API_VERSION);
  return callGoogle({
    url: `${googleHosts().ads}/customers/${customer_id}${method}`,
    headers: { "login-customer-id": login_customer_id, "developer-token": developer_token },
    body,
    connection,
    signal,
  });
}

/** When Google plans to switch each version off. A version that is not here is older than all of these, or newer. */
const sunsets: Record<string, string> = { v23: "2027-02-01", v24: "2027-05-01", v25: "2027-08-01", v26: "2027-11-01" };
const oldestListed = 23;
const warnAheadMs = 90 * 86_400_000;

const warned = new Set<string>();

/** What to say about a version; null while it has more than three months, or is newer than this list. */
export function sunsetWarning(version: string, now: Date): string | null {
  const sunset = sunsets[version];
  if (sunset === undefined)
    return Number(version.slice(1)) < oldestListed ? `Google has switched off version ${version} of the Ads API` : null;
  if (Date.parse(sunset) - now.getTime() > warnAheadMs) return null;
  return `Google switches off version ${version} of the Ads API around ${sunset}`;
}

/** Once per process, not with every upload. */
export function warnOfSunset(version: string, now = new Date()): void {
  const warning = sunsetWarning(version, now);
  if (warning === null || warned.has(version)) return;
  warned.add(version);
  log.warn(`${warning}: set GOOGLE_ADS_API_VERSION to a newer one`, { version });
}
