import { env } from "#lib/env.ts";

/** Whether people reach this deployment over https. */
export const isHttps = () => env().APP_URL.startsWith("https:");

/**
 * A cookie's name with the prefix that browsers enforce. `__Host-`: only over https, from this very host, for all its paths; no other
 * subdomain can set or replace it. `__Secure-`: over https only, for a cookie with a path of its own. Over http, browsers refuse both.
 */
export function prefixedCookie(prefix: "__Host-" | "__Secure-", name: string): string {
  return isHttps() ? prefix + name : name;
}
