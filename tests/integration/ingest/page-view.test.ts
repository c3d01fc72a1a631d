import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { POST as trackPageView } from "#app/api/track/pv/route.ts";
import { redis } from "#lib/platform/redis.ts";
import type { SiteId } from "#lib/site.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import { browser, figuresOf, type IngestApp, type IngestSite, startIngestApp } from "#tests/support/ingest-app.ts";
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

/** A site whose owner switched page views on. */
async function newSite(settings: Parameters<IngestApp["newSite"]>[0] = {}): Promise<IngestSite> {
  const site = await app.newSite(settings);
  await deliverySettings(app.db.sql, { ...site, owner: app.owner }, { pageViewsEnabled: true });
  return site;
}

const view = (site: IngestSite, body: unknown, headers: Record<string, string> = {}) =>
  send(trackPageView, {
    body: typeof body === "string" ? body : { siteId: site.siteId, fp: randomUUID(), ...(body as object) },
    headers: { origin: site.origin, "user-agent": browser, "x-forwarded-for": randomUUID(), ...headers },
  });
const queueOf = (site: IngestSite) => redis().zrange<string[]>(`pv:queue:${site.siteId}`, 0, -1);
const everyKey = async () => (await redis().keys("pv:*")).toSorted();

test("a view with a click id waits in Redis under the site's public id, for three days, and is not billed", async () => {
  const site = await newSite();
  const response = await view(site, { gclid: "Click-1.a_b", fp: "visitor-1" });
  const { ok, id } = await response.json();
  expect([response.status, ok, id]).toEqual([200, true, expect.stringMatching(/^pv_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)]);
  expect(await queueOf(site)).toEqual([id]);
  const kept = await redis().get<{ viewedAt: string }>(`pv:data:${id}`);
  expect(kept).toEqual({ gclid: "Click-1.a_b", wbraid: "", gbraid: "", viewedAt: expect.any(String), visitor: "visitor-1" });
  expect(await redis().zscore(`pv:queue:${site.siteId}`, id)).toBe(Date.parse(String(kept?.viewedAt)));
  expect(await redis().smembers(`pv:visitor:${site.siteId}:visitor-1`)).toEqual([id]);
  for (const key of [`pv:data:${id}`, `pv:queue:${site.siteId}`, `pv:visitor:${site.siteId}:visitor-1`]) {
    const seconds = await redis().ttl(key);
    expect(seconds).toBeGreaterThan(3 * 86_400 - 60);
    expect(seconds).toBeLessThanOrEqual(3 * 86_400);
  }
  expect((await figuresOf(app.db, site)).billed).toBe(0);
});

// Guarantee: a conversion is dated when the page was seen, and nobody dates one into last week or the future.
test.each([
  [60_000, 60_000],
  [-5_000, 0],
  [400_000_000, 86_400_000],
  ["soon", 0],
  [undefined, 0],
])("a view sent %j ms late happened %j ms before it came", async (t, ageMs) => {
  const site = await newSite();
  const before = Date.now();
  const { id } = await (await view(site, { gclid: "click", t })).json();
  const viewedAt = Number(await redis().zscore(`pv:queue:${site.siteId}`, id));
  expect(viewedAt).toBeGreaterThanOrEqual(before - ageMs);
  expect(viewedAt).toBeLessThanOrEqual(Date.now() - ageMs);
});

// Guarantee: what the owner did not switch on is not collected, whatever the installed snippet says. Mutation: without the test in trackPageView.
test("where the site's switch is off nothing is kept, and the page is not bothered", async () => {
  const site = await app.newSite();
  const before = await everyKey();
  const response = await view(site, { gclid: "click" });
  expect([response.status, await response.json()]).toEqual([200, { ok: true }]);
  expect(await everyKey()).toEqual(before);
});

// Guarantee: nothing is kept that a withdrawal could not find again.
test.each([
  [{}],
  [{ gclid: "" }],
  [{ gclid: "spaces and ; signs" }],
  [{ gclid: "x".repeat(513) }],
  [{ gclid: { $ne: null } }],
  [{ gclid: "click", fp: undefined }],
  [{ gclid: "click", fp: "*" }],
  [{ gclid: "click", fp: "x".repeat(65) }],
])("without a usable click id or visitor there is nothing to keep: %j", async (body) => {
  const site = await newSite();
  const response = await view(site, body);
  expect([response.status, await response.json()]).toEqual([200, { ok: true }]);
  expect(await queueOf(site)).toEqual([]);
});

test.each([
  ["refused", "off", ["analytics"]],
  ["unreadable", "off", "marketing"],
  ["not given where it is required", "required", undefined],
] as const)("marketing consent %s: 204 and nothing kept", async (_name, consentMode, consent_scopes) => {
  const site = await newSite({ consentMode });
  const response = await view(site, { gclid: "click", consent_scopes });
  expect([response.status, response.headers.get("x-opsmantik-consent-missing")]).toEqual([204, "marketing"]);
  expect(await queueOf(site)).toEqual([]);
});

// Guarantee: a visitor's last word counts, also for a page that does not know it. Mutation: without asking Postgres.
test("a view of a visitor who withdrew marketing is not kept, until they agree again", async () => {
  const site = await newSite();
  const says = (scopes: string[], minutesAgo: number) =>
    app.db.sql`select public.record_consent(${site.siteUuid}, ${app.db.sql.json({ visitor: "ayse", scopes, ageMs: minutesAgo * 60_000 })})`;
  await says(["analytics"], 2);
  const response = await view(site, { gclid: "click", fp: "ayse", consent_scopes: ["analytics", "marketing"] });
  expect([response.status, response.headers.get("x-opsmantik-consent-missing")]).toEqual([204, "marketing"]);
  expect(await queueOf(site)).toEqual([]);
  await says(["analytics", "marketing"], 1);
  expect((await view(site, { gclid: "click", fp: "ayse" })).status).toBe(200);
  expect(await queueOf(site)).toHaveLength(1);
});

// Guarantee: Google is not told that robots, or visitors who asked to be left alone, looked at a page.
test.each([
  ["a robot", { "user-agent": "Mozilla/5.0 (compatible; Googlebot/2.1)" }],
  ["Global Privacy Control", { "sec-gpc": "1" }],
  ["Do Not Track", { dnt: "1" }],
])("%s: 204 and nothing kept", async (_name, headers) => {
  const site = await newSite({ respectsPrivacySignal: true });
  expect((await view(site, { gclid: "click" }, headers)).status).toBe(204);
  expect(await queueOf(site)).toEqual([]);
});

test.each([
  ["an unknown site", (site: IngestSite) => view({ ...site, siteId: "0".repeat(32) as SiteId }, { gclid: "a" }), 400],
  ["a key of ours as the site", (site: IngestSite) => view({ ...site, siteId: "*:queue" as SiteId }, { gclid: "a" }), 400],
  ["no site", (site: IngestSite) => view(site, '{"gclid":"a"}'), 400],
  ["not JSON", (site: IngestSite) => view(site, "{"), 400],
  ["another origin", (site: IngestSite) => view(site, { gclid: "a" }, { origin: "https://evil.test" }), 403],
  ["more than 8 KiB", (site: IngestSite) => view(site, { gclid: "a", padding: "x".repeat(9_000) }), 413],
])("%s is refused, and no key appears in Redis", async (_name, attack, status) => {
  const site = await newSite();
  const before = await everyKey();
  expect((await attack(site)).status).toBe(status);
  expect(await everyKey()).toEqual(before);
});

// Guarantee: a flood fills one site's 50,000 places, no more memory than that, and throws nobody out who waits. Mutation: drop the oldest.
test("a full queue takes no new view, with what is handed out counted, and makes room for one as soon as one leaves", async () => {
  const site = await newSite();
  const [queue, processing] = [`pv:queue:${site.siteId}`, `pv:processing:${site.siteId}`];
  const { id: oldest } = await (await view(site, { gclid: "oldest", t: 1_000 })).json();
  const waiting = Array.from({ length: 49_998 }, (_value, index) => ({ score: Date.now(), member: `pv_${index}` }));
  for (let from = 0; from < waiting.length; from += 9_000) {
    const [first = { score: 0, member: "" }, ...rest] = waiting.slice(from, from + 9_000);
    await redis().zadd(queue, first, ...rest);
  }
  await redis().zadd(processing, { score: Date.now(), member: "pv_handed_out" });
  const full = await view(site, { gclid: "newest", fp: "newest" });
  expect([full.status, await full.json()]).toEqual([200, { ok: true }]);
  expect(await redis().exists(`pv:visitor:${site.siteId}:newest`)).toBe(0);
  expect(await redis().zcard(queue)).toBe(49_999);
  expect((await queueOf(site))[0]).toBe(oldest);
  await redis().zrem(processing, "pv_handed_out");
  expect((await (await view(site, { gclid: "newest" })).json()).id).toMatch(/^pv_/);
});

// Guarantee: one browser does not take everybody's places. Mutation: without the visitor's bound.
test("a visitor has at most 500 views in three days", async () => {
  const site = await newSite();
  await redis().sadd(`pv:visitor:${site.siteId}:busy`, ...(Array.from({ length: 499 }, (_value, index) => `pv_${index}`) as [string]));
  expect((await (await view(site, { gclid: "click", fp: "busy" })).json()).id).toMatch(/^pv_/);
  expect(await (await view(site, { gclid: "click", fp: "busy" })).json()).toEqual({ ok: true });
  expect((await (await view(site, { gclid: "click", fp: "other" })).json()).id).toMatch(/^pv_/);
});

// Guarantee: without Redis a view is refused, not silently lost.
test("with Redis stopped the answer is 503", async () => {
  const site = await newSite();
  await testRedis.stopServer();
  const response = await view(site, { gclid: "click" });
  expect([response.status, (await response.json()).code]).toEqual([503, "REDIS_UNAVAILABLE"]);
});
