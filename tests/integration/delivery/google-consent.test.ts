import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { GET as callback } from "#app/api/google-ads/oauth/callback/route.ts";
import { POST as available } from "#app/api/sites/[siteId]/google-ads/actions/available/route.ts";
import { POST as connect } from "#app/api/sites/[siteId]/google-ads/connect/route.ts";
import { GET as start } from "#app/api/sites/[siteId]/google-ads/oauth/start/route.ts";
import { POST as rotate } from "#app/api/sites/[siteId]/google-ads/rotate/route.ts";
import { demoClient, demoCustomerId } from "#scripts/local/google/accounts.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { handOver, type Team } from "#tests/fixtures/team.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";
import { type DeliveryApp, startDeliveryApp } from "#tests/support/delivery-app.ts";
import { cookiesOf, fromOurPage, send } from "#tests/support/requests.ts";

let app: DeliveryApp;
let google: Awaited<ReturnType<typeof startTestGoogle>>;
let team: Team;
let other: Team;
const cookies: Record<string, string> = {};
beforeAll(async () => {
  google = await startTestGoogle();
  app = await startDeliveryApp({
    withGateway: true,
    variables: {
      GOOGLE_API_BASE_URL: google.url,
      GOOGLE_OAUTH_CLIENT_ID: demoClient.clientId,
      GOOGLE_OAUTH_CLIENT_SECRET: demoClient.clientSecret,
      APP_URL: "http://localhost:3000", // the only host to which the simulator sends anybody back
    },
  });
  team = await createQueueTeam(app.sql, "ours", app.owner, "script");
  other = await handOver(app.sql, await createQueueTeam(app.sql, "theirs", app.owner, "script"), "owner@elsewhere.test");
  for (const [name, person] of Object.entries({ owner: team.owner, operator: team.operator, viewer: team.viewer, outsider: other.owner })) {
    cookies[name] = await cookiesOf(app.gateway, person);
  }
});
afterAll(async () => {
  await app.stop();
  await google.stop();
});

const account = { customer_id: "123-456-7890", conversion_action_resource_name: `customers/${demoCustomerId}/conversionActions/1005` };

interface Asked {
  who?: string;
  body?: unknown;
  query?: string;
  method?: string;
  cookie?: string;
}
const ask = (route: typeof connect, { who = "owner", body, query = "", method = "POST", cookie = "" }: Asked = {}) =>
  send(route, {
    method,
    path: `/api/sites/${team.siteId}/google-ads${query}`,
    params: { siteId: team.siteId },
    headers: fromOurPage([cookies[who], cookie].filter(Boolean).join("; ")),
    ...(method === "POST" && { body: body ?? {} }),
  });

describe("consent on Google's page", () => {
  const consentCookie = (response: Response) => /om_google_consent=[^;]+/.exec(response.headers.get("set-cookie") ?? "")?.[0] ?? "";
  const come = (query: string, who = "owner") =>
    send(callback, { method: "GET", path: `/api/google-ads/oauth/callback${query}`, headers: { cookie: cookies[who] ?? "" } });

  /** What a person does on Google's page: chooses the account, or goes away. */
  async function decide(location: string, customerId: string | null): Promise<string> {
    const body = new URLSearchParams(customerId ? { customer_id: customerId } : {});
    const response = await fetch(location, { method: "POST", body, redirect: "manual" });
    return new URL(response.headers.get("location") ?? "").search;
  }
  const startConsent = async () => {
    const response = await ask(start, { method: "GET" });
    expect(response.status).toBe(303);
    return response.headers.get("location") ?? "";
  };

  // Guarantee: an owner connects without copying a token, and the token never reaches a page.
  test("an owner consents, chooses an action and is connected", async () => {
    const location = await startConsent();
    expect(Object.fromEntries(new URL(location).searchParams)).toMatchObject({
      access_type: "offline",
      redirect_uri: "http://localhost:3000/api/google-ads/oauth/callback",
    });
    const back = await come(await decide(location, demoCustomerId));
    expect(back.status).toBe(303);
    expect(back.headers.get("location")).toBe(`http://localhost:3000/dashboard/site/${team.siteId}/connections/google-ads?consent=given`);
    expect(back.headers.get("set-cookie")).toMatch(/HttpOnly/i);
    const cookie = consentCookie(back);
    expect((await (await ask(available, { body: { customer_id: demoCustomerId }, cookie })).json()).actions.length).toBeGreaterThan(3);
    expect(await (await ask(connect, { body: account, cookie })).json()).toMatchObject({ connected: true });
    expect((await ask(connect, { body: account })).status).toBe(400); // without the consent a token must be given
    expect(await (await ask(rotate, { cookie })).json()).toMatchObject({ connected: true });
    const { errors } = await (await ask(rotate)).json();
    expect(errors).toMatchObject([{ field: "refresh_token", code: "REQUIRED" }]);
  });

  test("refused on Google's page: back without a token", async () => {
    const back = await come(await decide(await startConsent(), null));
    expect(back.headers.get("location")).toContain("consent=refused");
    expect(consentCookie(back)).toBe("");
  });

  // Guarantee: nobody's consent is put under another person's site.
  test("an answer that somebody else brings, or with a forged state, is refused", async () => {
    const query = await decide(await startConsent(), demoCustomerId);
    expect((await come(query, "operator")).status).toBe(403);
    expect((await come("?state=forged&code=4/x")).status).toBe(403);
    expect((await come(query, "nobody")).status).toBe(401);
    const cookie = consentCookie(await come(query));
    const elsewhere = await send(connect, {
      path: `/api/sites/${other.siteId}/google-ads/connect`,
      params: { siteId: other.siteId },
      headers: fromOurPage(`${cookies.outsider}; ${cookie}`),
      body: account,
    });
    expect(elsewhere.status).toBe(400);
  });
});
