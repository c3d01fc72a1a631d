import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readRow } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";
import { type DeliveryApp, startDeliveryApp, testCredentials } from "#tests/support/delivery-app.ts";
import { send } from "#tests/support/requests.ts";

let app: DeliveryApp;
let google: Awaited<ReturnType<typeof startTestGoogle>>;
beforeAll(async () => {
  google = await startTestGoogle();
  app = await startDeliveryApp({ variables: { GOOGLE_API_BASE_URL: google.url } });
});
afterAll(async () => {
  await app.stop();
  await google.stop();
});

const authorized = () => ({ authorization: `Bearer ${app.env.CRON_SECRET}` });
const seed = { site_id: "", provider_key: "google_ads", credentials: { ...testCredentials, developer_token: "developer-token" } };

test("only the cron's secret starts a worker", async () => {
  const routes = [
    await import("#app/api/cron/process-offline-conversions/route.ts"),
    await import("#app/api/cron/providers/poll-verdicts/route.ts"),
    await import("#app/api/cron/providers/seed-credentials/route.ts"),
  ];
  for (const { POST } of routes) {
    expect((await send(POST, {})).status).toBe(401);
    expect((await send(POST, { headers: { authorization: "Bearer wrong", "x-vercel-cron": "1" } })).status).toBe(401);
  }
});

// Guarantee: the runbook's commands work as written: seed, run the worker with a limit, read the counts.
test("seeded credentials deliver: GET and POST answer {ok, processed, completed, failed, retry}", async () => {
  const { GET, POST } = await import("#app/api/cron/process-offline-conversions/route.ts");
  const { POST: seedCredentials } = await import("#app/api/cron/providers/seed-credentials/route.ts");
  const { GET: pollVerdicts } = await import("#app/api/cron/providers/poll-verdicts/route.ts");
  const { demoClient, demoRefreshToken } = await import("#scripts/local/google/accounts.ts");
  const team = await createQueueTeam(app.sql, "seeded", app.owner, "api");
  const credentials = {
    ...seed.credentials,
    client_id: demoClient.clientId,
    client_secret: demoClient.clientSecret,
    refresh_token: demoRefreshToken,
    conversion_action_resource_name: "customers/1234567890/conversionActions/1005",
  };
  for (const site_id of [team.siteUuid, team.siteId]) {
    const response = await send(seedCredentials, { headers: authorized(), body: { ...seed, site_id, credentials } });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ ok: true });
  }
  const rows = await app.seal(team, 2);
  const first = await send(POST, { path: "/api/cron/process-offline-conversions?limit=1", headers: authorized() });
  expect(await first.json()).toEqual({ ok: true, processed: 1, completed: 1, failed: 0, retry: 0 });
  const second = await send(GET, { method: "GET", path: "/api/cron/process-offline-conversions", headers: authorized() });
  expect(await second.json()).toEqual({ ok: true, processed: 1, completed: 1, failed: 0, retry: 0 });
  for (const { id } of rows) expect(await readRow(app.sql, id)).toMatchObject({ status: "COMPLETED" });
  expect(await (await send(pollVerdicts, { method: "GET", headers: authorized() })).json()).toMatchObject({ ok: true, polled: 0 });
  for (const limit of ["0", "5001", "many"]) {
    const refused = await send(POST, { path: `/api/cron/process-offline-conversions?limit=${limit}`, headers: authorized() });
    expect(refused.status).toBe(400);
  }
});

test("a seed without credentials, for an unknown site or another provider is refused", async () => {
  const { POST: seedCredentials } = await import("#app/api/cron/providers/seed-credentials/route.ts");
  const put = async (body: unknown) => (await send(seedCredentials, { headers: authorized(), body })).status;
  const site_id = "0190b5a8-3f5c-7c1e-8a34-5f0f1c2d3e4f";
  expect(await put({ ...seed, site_id })).toBe(404);
  expect(await put({ ...seed, site_id, provider_key: "other" })).toBe(400);
  expect(await put({ ...seed, site_id, credentials: { ...seed.credentials, refresh_token: undefined } })).toBe(400);
});

// Guarantee: whoever gets hold of the cron's secret cannot put credentials of their own under a customer's site in production.
test("in production seed-credentials answers 403, whatever it is sent", async () => {
  vi.resetModules();
  vi.stubEnv("NODE_ENV", "production");
  const { POST: seedCredentials } = await import("#app/api/cron/providers/seed-credentials/route.ts");
  for (const body of [{ ...seed, site_id: "0190b5a8-3f5c-7c1e-8a34-5f0f1c2d3e4f" }, "no json"]) {
    expect((await send(seedCredentials, { headers: authorized(), body })).status).toBe(403);
  }
  vi.unstubAllEnvs();
});
