import { serializeCookieHeader } from "@supabase/ssr";

interface Cookie {
  name: string;
  value: string;
}

/**
 * Cookies of a new session, made as the product's sign-in page makes them; none when those of the request still hold. Cookies belong to a host and
 * not to a port, so the product, which runs beside this page, finds them.
 */
export async function signedInCookies(given: Cookie[], person: { email: string; password: string }): Promise<string[]> {
  // Reads the app's settings, which the demo puts into this process before it comes here.
  const { sessionClient } = await import("#lib/db/session-client.ts");
  const set: string[] = [];
  const client = sessionClient({
    getAll: () => given,
    setAll: (list) => {
      set.push(...list.map(({ name, value, options }) => serializeCookieHeader(name, value, options)));
    },
  });
  const { data } = await client.auth.getUser().catch(() => ({ data: { user: null } }));
  if (data.user) return set;
  const { error } = await client.auth.signInWithPassword(person);
  if (error) throw error;
  return set;
}
