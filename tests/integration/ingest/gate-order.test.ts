import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { unaskedUnits } from "#lib/http/allowance.ts";
import { hashedAddress } from "#lib/http/caller-address.ts";
import { redis } from "#lib/platform/redis.ts";
import { dropsOf, figuresOf, type IngestApp, type IngestSite, pageView, startIngestApp } from "#tests/support/ingest-app.ts";
import { stopClock } from "#tests/support/stop-clock.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp();
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());

const nothing = { billed: 0, captured: 0, stored: 0, calls: 0 };
const limiterKeys = (site: IngestSite) => redis().keys(`limit:sync:*${site.siteId}*`);

/**
 * Uses up the allowance of one caller: 2,000 events a minute. The first events of a window pass unasked, so they are sent first, and the clock
 * stands still: in the next minute others would pass.
 */
async function exhaustLimit(site: IngestSite, address: string): Promise<Record<string, string>> {
  stopClock();
  const headers = { "x-forwarded-for": address };
  const caller = `${site.siteId}:${hashedAddress(new Headers(headers))}`;
  const minute = Math.floor(Date.now() / 60_000);
  await redis().set(`limit:sync:${caller}:${minute}`, 2_000, { ex: 120 });
  for (let index = 0; index < unaskedUnits(2000); index++) await app.sync(site, pageView(site, { u: "no address" }), headers);
  return headers;
}

// Guarantee: the order is frozen: auth, rate limit, validation, idempotency, quota, publish. Each test shows one neighbour pair
// by what the later step would have touched.
test("auth comes before the rate limit: a stranger uses up nobody's allowance", async () => {
  const site = await app.newSite();
  expect((await app.sync(site, pageView(site), { origin: "https://evil.test" })).status).toBe(403);
  const unknown = await app.sync(site, { ...pageView(site), s: "0123456789abcdef0123456789abcdef" });
  expect(unknown.status).toBe(400);
  expect(await limiterKeys(site)).toEqual([]);
  const one = pageView(site);
  await app.sync(site, { s: site.siteId, events: Array.from({ length: unaskedUnits(2000) + 1 }, () => ({ ...one, s: undefined })) });
  expect(await limiterKeys(site)).not.toEqual([]);
});

test("the rate limit comes before validation: an exhausted caller's bad event is 429, not 400", async () => {
  const site = await app.newSite();
  const headers = await exhaustLimit(site, randomUUID());
  const response = await app.sync(site, pageView(site, { u: "no address" }), headers);
  expect([response.status, response.headers.get("x-opsmantik-ratelimit")]).toEqual([429, "1"]);
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(response.headers.get("x-opsmantik-quota-exceeded")).toBe(null);
  expect(response.headers.get("access-control-allow-origin")).toBe(site.origin);
});

// Guarantee: a rate limit 429 is never billable.
test("the rate limit comes before idempotency: its 429 leaves no row, and the event is new afterwards", async () => {
  const site = await app.newSite();
  const headers = await exhaustLimit(site, randomUUID());
  const event = pageView(site);
  expect((await app.sync(site, event, headers)).status).toBe(429);
  expect(await figuresOf(app.db, site)).toEqual(nothing);
  expect((await (await app.sync(site, event)).json()).status).toBe("queued");
});

test("the allowance belongs to one site and address, whatever browser it says it is", async () => {
  const site = await app.newSite();
  const other = await app.newSite();
  const headers = await exhaustLimit(site, randomUUID());
  const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
  expect((await app.sync(other, pageView(other), headers)).status).toBe(200);
  expect((await app.sync(site, pageView(site))).status).toBe(200);
  expect((await app.sync(site, pageView(site), { ...headers, "user-agent": firefox })).status).toBe(429);
});

test("validation comes before idempotency and quota: a bad event takes no room on a plan", async () => {
  const site = await app.newSite({ plan: { limit: 1, enforcement: "hard" } });
  expect((await app.sync(site, pageView(site, { u: "no address" }))).status).toBe(400);
  expect(await figuresOf(app.db, site)).toEqual(nothing);
  expect((await app.sync(site, pageView(site))).status).toBe(200);
});

test("idempotency comes before quota: on a full plan a known event is a duplicate and no drop of the plan's", async () => {
  const site = await app.newSite({ plan: { limit: 1, enforcement: "hard" } });
  const event = pageView(site);
  await app.sync(site, event);
  expect((await app.sync(site, event)).headers.get("x-opsmantik-dedup")).toBe("1");
  expect(await dropsOf(app.db, site)).toEqual({ duplicate: 1 });
});

// Guarantee: nothing is published for an event that is not billed.
test("quota and idempotency come before publish: neither a refused event nor a duplicate wakes the worker", async () => {
  const site = await app.newSite({ plan: { limit: 1, enforcement: "hard" } });
  const event = pageView(site);
  const clock = stopClock();
  await app.sync(site, event);
  clock.step(2_000);
  await app.sync(site, event);
  clock.step(2_000);
  expect((await app.sync(site, pageView(site))).status).toBe(429);
  await app.qstash.idle();
  expect(app.wakeUps.filter((body) => body.includes(site.siteId))).toHaveLength(1);
});

// Guarantee: a busy site costs one message a second, and the worker still finds every event.
// Mutation: publish for each event and leave it to QStash to see that they are the same.
test("one wake-up per site and second, delivered after it: the worker then has all of that second's events", async () => {
  const site = await app.newSite();
  const requests = vi.spyOn(globalThis, "fetch");
  const clock = stopClock(Math.floor(Date.now() / 1000) * 1000);
  for (let index = 0; index < 10; index++) {
    await app.sync(site, pageView(site));
    clock.step(99);
  }
  clock.step(10);
  await app.sync(site, pageView(site));
  expect(requests.mock.calls.filter(([url]) => String(url).includes("/v2/publish/"))).toHaveLength(2);
  requests.mockRestore();
  await app.qstash.idle();
  expect(app.wakeUps.filter((body) => body.includes(site.siteId))).toHaveLength(2);
  expect(await figuresOf(app.db, site)).toEqual({ billed: 11, captured: 11, stored: 11, calls: 0 });
});
