import { createServerClient } from "@supabase/ssr";
import { type Person, password } from "#tests/fixtures/team.ts";
import { appOrigin } from "./app-env.ts";
import type { TestGateway } from "./test-gateway.ts";

type RouteHandler = (request: Request, context: { params: Promise<Record<string, string>> }) => Promise<Response>;

/** Signs in as a browser does and gives the cookie header it would send. */
export async function cookiesOf(gateway: TestGateway, person: Person): Promise<string> {
  const jar = new Map<string, string>();
  const client = createServerClient(gateway.url, gateway.publishableKey, {
    // As the app's own code names it, also after a test started the app anew with other variables.
    cookieOptions: { name: process.env.APP_URL?.startsWith("https:") ? "__Host-om_session" : "om_session" },
    cookies: {
      getAll: () => [...jar].map(([name, value]) => ({ name, value })),
      setAll: (list) => {
        for (const { name, value } of list) jar.set(name, value);
      },
    },
  });
  const { error } = await client.auth.signInWithPassword({ email: person.email, password });
  if (error) throw error;
  return [...jar].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("; ");
}

interface Sending {
  method?: string;
  path?: string;
  params?: Record<string, string>;
  body?: unknown;
  headers?: Record<string, string>;
}

/** What our own page sends: same origin, with or without somebody's cookies. */
export const fromOurPage = (cookie?: string) => ({
  host: new URL(appOrigin).host,
  origin: appOrigin,
  "sec-fetch-site": "same-origin",
  ...(cookie && { cookie }),
});

/** Calls a route the way Next does. */
export async function send(
  route: RouteHandler,
  { method = "POST", path = "/api/test", params = {}, body, headers = {} }: Sending,
): Promise<Response> {
  const text = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
  return route(new Request(new URL(path, appOrigin), { method, headers, body: text }), { params: Promise.resolve(params) });
}
