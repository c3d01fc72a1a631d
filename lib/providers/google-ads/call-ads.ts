import { env } from "#lib/env.ts";
import { callGoogle, type GoogleAnswer } from "#lib/providers/google/call-google.ts";
import { googleHosts } from "#lib/providers/google/hosts.ts";
import type { ProviderConnection } from "#lib/providers/port.ts";
import { warnOfSunset } from "./api-version.ts";

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
