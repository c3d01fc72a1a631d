import { type CookieMethodsServer, createServerClient } from "@supabase/ssr";
import type { SupabaseClient } from "@supabase/supabase-js";
import type { z } from "zod";
import { env } from "#lib/env.ts";
import { isHttps, prefixedCookie } from "#lib/platform/cookie-name.ts";
import { databaseError } from "./database-error.ts";
import type { Database, SessionFunction } from "./types.gen.ts";

export type SessionClient = SupabaseClient<Database>;

/** Out of reach of scripts, since browsers never talk to Supabase themselves, and of other subdomains. Long sessions have several. */
function sessionCookieOptions() {
  return { name: prefixedCookie("__Host-", "om_session"), path: "/", httpOnly: true, sameSite: "lax" as const, secure: isHttps() };
}

/** The session door: Supabase with the signed-in user's own rights. */
export function sessionClient(cookies: CookieMethodsServer): SessionClient {
  const { SUPABASE_URL, SUPABASE_PUBLISHABLE_KEY } = env();
  return createServerClient<Database>(SUPABASE_URL, SUPABASE_PUBLISHABLE_KEY, {
    cookieOptions: sessionCookieOptions(),
    cookies,
    global: { fetch: (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(10_000) }) },
  });
}

type SetCookies = NonNullable<CookieMethodsServer["setAll"]>;

/**
 * For requests that only read a session: what is refreshed is written, and none is ended. A request that was under way while its sender signed
 * in again is refused, and its answer would take the new session's cookies away.
 */
export function refreshOnly(setAll: SetCookies): SetCookies {
  return (list, ...rest) => (list.some(({ value }) => value !== "") ? setAll(list, ...rest) : undefined);
}

/** Throws if Supabase Auth does not answer. */
export async function reachAuth(): Promise<void> {
  const { SUPABASE_URL, SUPABASE_PUBLISHABLE_KEY } = env();
  const url = new URL("/auth/v1/settings", SUPABASE_URL);
  const response = await fetch(url, { headers: { apikey: SUPABASE_PUBLISHABLE_KEY }, signal: AbortSignal.timeout(3_000) });
  if (!response.ok) throw new Error(`Auth answered ${response.status}`);
}

/** Calls one of the functions granted to signed-in users. The actor is the session's user, never an argument. */
export async function callAsUser<Name extends SessionFunction, Result>(
  db: SessionClient,
  name: Name,
  args: Database["public"]["Functions"][Name]["Args"],
  result: z.ZodType<Result>,
): Promise<Result> {
  const { data, error } = await (db as SupabaseClient).rpc(name, args); // the client's own types cannot follow a generic name
  if (error) throw databaseError(error);
  return result.parse(data);
}
