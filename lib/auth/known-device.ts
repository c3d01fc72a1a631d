import { randomUUID } from "node:crypto";
import { z } from "zod";
import { env } from "#lib/env.ts";
import { keyedHash } from "#lib/platform/keyed-hash.ts";
import { openToken, sealToken } from "#lib/platform/sealed-token.ts";

/** Which accounts signed in on a device, newest first. A browser carries it; it opens nothing by itself. */
const device = z.object({ device: z.uuid(), accounts: z.array(z.string()).max(5) });
type Device = z.output<typeof device>;

const lifetimeSeconds = 90 * 86_400;
const kind = { purpose: "known-device", lifetimeSeconds, payload: device };

const isSecure = () => env().APP_URL.startsWith("https:");
export const deviceCookieName = () => (isSecure() ? "__Host-om_device" : "om_device");
export const deviceCookieOptions = () =>
  ({ httpOnly: true, secure: isSecure(), sameSite: "lax", path: "/", maxAge: lifetimeSeconds }) as const;

/** The device, if somebody has signed in to this account on it before. */
export async function knownDevice(token: string | undefined, email: string): Promise<string | null> {
  const known = token ? await openToken(kind, token) : null;
  return known?.accounts.includes(keyedHash("account", email)) ? known.device : null;
}

/** The cookie after a sign-in. A device keeps its id, so that others who share it keep theirs. */
export async function rememberDevice(token: string | undefined, email: string): Promise<string> {
  const known: Device = (token ? await openToken(kind, token) : null) ?? { device: randomUUID(), accounts: [] };
  const account = keyedHash("account", email);
  const accounts = [account, ...known.accounts.filter((other) => other !== account)].slice(0, 5);
  return sealToken(kind, { device: known.device, accounts });
}
