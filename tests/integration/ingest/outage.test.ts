import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { redis } from "#lib/platform/redis.ts";
import { figuresOf, type IngestApp, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";
import { startTestRedis, type TestRedis } from "#tests/support/test-redis.ts";

let app: IngestApp;
let testRedis: TestRedis;
beforeAll(async () => {
  vi.spyOn(console, "error").mockImplementation(() => undefined); // QStash's client prints each refused connection
  testRedis = await startTestRedis();
  app = await startIngestApp({ redisRest: testRedis.rest, worker: "asleep" });
});
afterAll(async () => {
  await app.stop();
  await testRedis.stop();
});

/** Of this database alone: the server is shared. The owner, a superuser, is exempt. */
const limitConnections = (count: number) =>
  app.db.sql.unsafe(`alter database "${new URL(app.db.adminUrl).pathname.slice(1)}" connection limit ${count}`);
const monthOf = (at = new Date()) => at.toISOString().slice(0, 7);

// Guarantee: Redis is never a financial authority. Whatever stands in it, the plan and the invoice count the same.
test("forged and flushed usage keys change neither what is admitted nor what is counted", async () => {
  const site = await app.newSite({ plan: { limit: 2, enforcement: "hard" } });
  const keys = [`usage:${site.siteId}:${monthOf()}`, `usage:${site.siteUuid}:${monthOf()}`];
  for (const key of keys) await redis().set(key, 1_000_000);
  expect((await app.sync(site, pageView(site))).status).toBe(200);
  for (const key of keys) await redis().set(key, -1_000_000);
  expect((await app.sync(site, pageView(site))).status).toBe(200);
  expect((await app.sync(site, pageView(site))).status).toBe(429);
  await redis().flushdb();
  expect((await app.sync(site, pageView(site))).status).toBe(429);
  const [usage] = await app.db.sql`select event_count::int as used from private.recount_month(${site.siteUuid}, ${monthOf()})`;
  expect([usage?.used, (await figuresOf(app.db, site)).billed]).toEqual([2, 2]);
});

// Guarantee: without QStash an event is still captured and billed once, and the cron stores it.
test("with QStash stopped the answer is 200 degraded with x-opsmantik-fallback; the event is PENDING and one unit", async () => {
  const site = await app.newSite();
  await app.qstash.stop();
  const event = pageView(site);
  const response = await app.sync(site, event);
  expect([response.status, response.headers.get("x-opsmantik-fallback")]).toEqual([200, "true"]);
  expect(await response.json()).toEqual({ ok: true, status: "degraded", accepted: 1, results: ["accepted"] });
  const [row] = await app.db.sql`select status from public.ingest_fallback_buffer where site_id = ${site.siteUuid}`;
  expect(row?.status).toBe("PENDING");
  expect((await app.sync(site, event)).headers.get("x-opsmantik-dedup")).toBe("1");
  expect(await figuresOf(app.db, site)).toMatchObject({ billed: 1, captured: 1 });
  await app.recover();
  await app.recover();
  expect(await figuresOf(app.db, site)).toMatchObject({ billed: 1, captured: 1, stored: 1 });
});

test("a call reported while QStash is stopped is degraded too", async () => {
  const site = await app.newSite();
  const response = await app.call(site, { event_id: "a" });
  expect([response.status, response.headers.get("x-opsmantik-fallback"), (await response.json()).status]).toEqual([
    200,
    "true",
    "degraded",
  ]);
});

// Guarantee: a lost lead is lost money, so the gate goes on without Redis, and still limits by itself.
test("with Redis stopped too, events are accepted, once", async () => {
  const site = await app.newSite();
  await testRedis.stopServer();
  const event = phoneCall(site);
  expect((await app.sync(site, event)).status).toBe(200);
  expect((await app.sync(site, event)).headers.get("x-opsmantik-dedup")).toBe("1");
  expect((await figuresOf(app.db, site)).billed).toBe(1);
});

// Guarantee: when the capture cannot be written either, the client is told so and nothing is billed; its retry is accepted once.
test("with the database refusing, the answer is 503 with no row, and the retry is accepted once", async () => {
  const site = await app.newSite();
  await app.sync(site, pageView(site));
  const event = pageView(site);
  await limitConnections(0);
  await app.db.sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename = 'opsmantik_app'`;
  const refused = await app.sync(site, event);
  expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([503, site.origin]);
  expect((await figuresOf(app.db, site)).billed).toBe(1);
  await limitConnections(-1);
  expect((await app.sync(site, event)).status).toBe(200);
  expect((await figuresOf(app.db, site)).billed).toBe(2);
});
