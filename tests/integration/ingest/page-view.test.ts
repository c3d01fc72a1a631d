import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { POST as trackPageView } from "#app/api/track/pv/route.ts";
import { redis } from "#lib/platform/redis.ts";
import { figuresOf, type IngestApp, type IngestSite, startIngestApp } from "#tests/support/ingest-app.ts";
import { send } from "#tests/support/requests.ts";
import { startTestRedis, type TestRedis } from "#tests/support/test-redis.ts";

let app: IngestApp;
let testRedis: TestRedis;
beforeAll(async () => {
  testRedis = await startTestRedis();
  app = await startIngestApp({ redisRest: testRedis.rest });
});
afterAll(async () => {
  await app.stop();
  await testRedis.stop();
});

const view = (site: IngestSite, body: unknown, origin = site.origin) =>
  send(trackPageView, {
    body: typeof body === "string" ? body : { siteId: site.publicId, ...(body as object) },
    headers: { origin, "x-forwarded-for": randomUUID() },
  });
const queueOf = (site: IngestSite) => redis().lrange(`pv:queue:${site.publicId}`, 0, -1);

test("a view with a click id waits in Redis under the site's public id, for three days, and is not billed", async () => {
  const site = await app.newSite();
  const response = await view(site, { gclid: "Click-1.a_b" });
  const { ok, id } = await response.json();
  expect([response.status, ok, id]).toEqual([200, true, expect.stringMatching(/^pv_[0-9a-f]{32}$/)]);
  expect(await queueOf(site)).toEqual([id]);
  expect(await redis().get(`pv:data:${id}`)).toEqual({ gclid: "Click-1.a_b", wbraid: "", gbraid: "", viewedAt: expect.any(String) });
  for (const key of [`pv:data:${id}`, `pv:queue:${site.publicId}`]) {
    const seconds = await redis().ttl(key);
    expect(seconds).toBeGreaterThan(3 * 86_400 - 60);
    expect(seconds).toBeLessThanOrEqual(3 * 86_400);
  }
  expect((await figuresOf(app.db, site)).billed).toBe(0);
});

test.each([[{}], [{ gclid: "" }], [{ gclid: "spaces and ; signs" }], [{ gclid: "x".repeat(513) }], [{ gclid: { $ne: null } }]])(
  "without a usable click id there is nothing to keep: %j",
  async (body) => {
    const site = await app.newSite();
    const response = await view(site, body);
    expect([response.status, await response.json()]).toEqual([200, { ok: true }]);
    expect(await queueOf(site)).toEqual([]);
  },
);

test.each([
  ["refused", "off", ["analytics"]],
  ["unreadable", "off", "marketing"],
  ["not given where it is required", "required", undefined],
] as const)("marketing consent %s: 204 and nothing kept", async (_name, consentMode, consent_scopes) => {
  const site = await app.newSite({ consentMode });
  const response = await view(site, { gclid: "click", consent_scopes });
  expect([response.status, response.headers.get("x-opsmantik-consent-missing")]).toEqual([204, "marketing"]);
  expect(await queueOf(site)).toEqual([]);
});

test.each([
  ["an unknown site", (site: IngestSite) => view({ ...site, publicId: "0".repeat(32) }, { gclid: "a" }), 400],
  ["a key of ours as the site", (site: IngestSite) => view({ ...site, publicId: "*:queue" }, { gclid: "a" }), 400],
  ["no site", (site: IngestSite) => view(site, '{"gclid":"a"}'), 400],
  ["not JSON", (site: IngestSite) => view(site, "{"), 400],
  ["another origin", (site: IngestSite) => view(site, { gclid: "a" }, "https://evil.test"), 403],
  ["more than 8 KiB", (site: IngestSite) => view(site, { gclid: "a", padding: "x".repeat(9_000) }), 413],
])("%s is refused, and no key appears in Redis", async (_name, attack, status) => {
  const site = await app.newSite();
  const before = await redis().keys("pv:*");
  expect((await attack(site)).status).toBe(status);
  expect(await redis().keys("pv:*")).toEqual(before);
});

// Guarantee: a flood fills one site's 5,000 places and no more memory than that. Mutation: cut the queue and keep the data.
test("beyond 5,000 waiting views the oldest goes, with its data", async () => {
  const site = await app.newSite();
  const queue = `pv:queue:${site.publicId}`;
  const { id: oldest } = await (await view(site, { gclid: "oldest" })).json();
  await redis().rpush(queue, ...Array.from({ length: 4_999 }, (_value, index) => `pv_${index}`));
  const { id: newest } = await (await view(site, { gclid: "newest" })).json();
  expect(await redis().llen(queue)).toBe(5_000);
  expect(await redis().exists(`pv:data:${oldest}`)).toBe(0);
  expect(await redis().exists(`pv:data:${newest}`)).toBe(1);
  expect((await queueOf(site)).at(-1)).toBe(newest);
});

// Guarantee: without Redis a view is refused, not silently lost.
test("with Redis stopped the answer is 503", async () => {
  const site = await app.newSite();
  await testRedis.stopServer();
  const response = await view(site, { gclid: "click" });
  expect([response.status, (await response.json()).code]).toEqual([503, "REDIS_UNAVAILABLE"]);
});
