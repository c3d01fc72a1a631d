import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { dropsOf, figuresOf, type IngestApp, type IngestSite, pageView, startIngestApp } from "#tests/support/ingest-app.ts";
import { stopClock } from "#tests/support/stop-clock.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());

const nothing = { billed: 0, captured: 0, stored: 0, calls: 0 };

describe("accepted", () => {
  test("a new event is queued: one billable row, one captured payload", async () => {
    const site = await app.newSite();
    const response = await app.sync(site, pageView(site));
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ok: true, status: "queued", accepted: 1, results: ["accepted"] });
    expect(await figuresOf(app.db, site)).toEqual({ ...nothing, billed: 1, captured: 1 });
    for (const header of ["dedup", "overage", "fallback", "quota-exceeded", "ratelimit"])
      expect(response.headers.get(`x-opsmantik-${header}`)).toBe(null);
  });

  test("a body of text/plain needs no preflight and is read as JSON", async () => {
    const site = await app.newSite();
    const response = await app.sync(site, JSON.stringify(pageView(site)), { "content-type": "text/plain;charset=UTF-8" });
    expect(response.status).toBe(200);
  });

  test("a row is kept for the current month and two more, and never shorter than 90 days", async () => {
    const site = await app.newSite();
    await app.sync(site, pageView(site));
    const [row] = await app.db.sql`
      select expires_at >= created_at + interval '90 days' as days,
             expires_at >= date_trunc('month', created_at, 'UTC') + interval '3 months' as months,
             created_at between now() - interval '1 minute' and now() as fresh, event_name
      from public.ingest_idempotency where site_id = ${site.siteUuid}`;
    expect(row).toEqual({ days: true, months: true, fresh: true, event_name: "interaction/view" });
  });

  test("a batch answers for each event in the order it was sent", async () => {
    const site = await app.newSite();
    const known = pageView(site);
    stopClock();
    await app.sync(site, known);
    const response = await app.sync(site, { events: [pageView(site), known, { s: site.siteId }, pageView(site)] });
    expect(await response.json()).toEqual({
      ok: true,
      status: "queued",
      accepted: 2,
      results: ["accepted", "duplicate", "invalid", "accepted"],
    });
    expect((await figuresOf(app.db, site)).billed).toBe(3);
  });
});

describe("duplicate", () => {
  // Guarantee: a duplicate never publishes and never bills.
  test("the same event in the same bucket is 200 with x-opsmantik-dedup and leaves one row", async () => {
    const site = await app.newSite();
    const event = pageView(site, { eid: undefined });
    stopClock();
    await app.sync(site, event);
    const response = await app.sync(site, event);
    expect(response.status).toBe(200);
    expect(response.headers.get("x-opsmantik-dedup")).toBe("1");
    expect(await response.json()).toEqual({ ok: true, status: "duplicate", accepted: 0, results: ["duplicate"] });
    expect(await figuresOf(app.db, site)).toEqual({ ...nothing, billed: 1, captured: 1 });
    expect(await dropsOf(app.db, site)).toEqual({ duplicate: 1 });
  });

  test("without an eid the next bucket is another event", async () => {
    const site = await app.newSite();
    const event = pageView(site, { eid: undefined });
    const clock = stopClock();
    await app.sync(site, event);
    clock.step(5_000);
    expect((await (await app.sync(site, event)).json()).status).toBe("queued");
    expect((await figuresOf(app.db, site)).billed).toBe(2);
  });

  // Guarantee: a retry after a lost answer is billed once, however late it comes.
  test("a retry with the same eid in another bucket is a duplicate", async () => {
    const site = await app.newSite();
    const event = pageView(site);
    const clock = stopClock();
    await app.sync(site, event);
    clock.step(3_600_000);
    expect((await app.sync(site, event)).headers.get("x-opsmantik-dedup")).toBe("1");
    expect((await figuresOf(app.db, site)).billed).toBe(1);
  });

  test("the same eid at two sites is two events", async () => {
    const [one, other] = [await app.newSite(), await app.newSite()];
    await app.sync(one, pageView(one, { eid: "shared" }));
    expect((await (await app.sync(other, pageView(other, { eid: "shared" }))).json()).status).toBe("queued");
  });

  test.each([
    [
      "their key",
      (site: IngestSite) =>
        [pageView(site), pageView(site)].map((event, _index, [first]) => ({ ...event, u: first?.u, meta: first?.meta })),
    ],
    ["their eid", (site: IngestSite) => [pageView(site, { eid: "a" }), pageView(site, { eid: "a" })]],
    ["both", (site: IngestSite) => Array(3).fill(pageView(site))],
  ])("copies within one batch that share %s are one event", async (_name, make) => {
    const site = await app.newSite();
    const { results } = await (await app.sync(site, { events: make(site) })).json();
    expect(results.filter((result: string) => result === "accepted")).toHaveLength(1);
    expect(await figuresOf(app.db, site)).toEqual({ ...nothing, billed: 1, captured: 1 });
  });

  // Guarantee: two buttons pressed in one moment are two leads.
  test("another label is another event; the client's own price, site or key changes nothing", async () => {
    const site = await app.newSite();
    const event = pageView(site, { eid: undefined, ea: "press", el: "first" });
    stopClock();
    await app.sync(site, event);
    expect((await (await app.sync(site, { ...event, el: "second" })).json()).status).toBe("queued");
    const forged = { ...event, site_id: "other", billable: false, value_cents: 1, idempotency_key: "mine", created_at: "2020-01-01" };
    expect((await (await app.sync(site, forged)).json()).status).toBe("duplicate");
  });
});

describe("quota", () => {
  // Guarantee: a 429 is never billed.
  test("a full hard plan answers 429 and leaves no row", async () => {
    const site = await app.newSite({ plan: { limit: 1, enforcement: "hard" } });
    await app.sync(site, pageView(site));
    const response = await app.sync(site, pageView(site));
    expect([response.status, response.headers.get("x-opsmantik-quota-exceeded"), response.headers.get("retry-after")]).toEqual([
      429,
      "1",
      "600",
    ]);
    expect(response.headers.get("x-opsmantik-ratelimit")).toBe(null);
    expect(await response.json()).toMatchObject({ ok: false, code: "quota_exceeded", results: ["quota"] });
    expect(await figuresOf(app.db, site)).toEqual({ ...nothing, billed: 1, captured: 1 });
    expect(await dropsOf(app.db, site)).toEqual({ quota: 1 });
  });

  test("an event refused by a full plan is accepted once there is room, in the same bucket", async () => {
    const site = await app.newSite({ plan: { limit: 1, enforcement: "hard" } });
    const late = pageView(site);
    stopClock();
    await app.sync(site, pageView(site));
    expect((await app.sync(site, late)).status).toBe(429);
    await app.db.sql`select public.set_site_plan(${site.siteId}, 'More', 2, 'hard', 'TRY')`;
    expect((await (await app.sync(site, late)).json()).status).toBe("queued");
  });

  // Guarantee: duplicates never consume quota, so a client's resend on a full plan is not an error.
  test("a duplicate on a full plan is a duplicate", async () => {
    const site = await app.newSite({ plan: { limit: 1, enforcement: "hard" } });
    const event = pageView(site);
    await app.sync(site, event);
    expect((await app.sync(site, event)).headers.get("x-opsmantik-dedup")).toBe("1");
  });

  test("a batch that half fits is 200: what fits is accepted, the rest says quota", async () => {
    const site = await app.newSite({ plan: { limit: 2, enforcement: "hard" } });
    const response = await app.sync(site, { events: [pageView(site), pageView(site), pageView(site)] });
    expect(response.status).toBe(200);
    expect((await response.json()).results).toEqual(["accepted", "accepted", "quota"]);
    expect((await figuresOf(app.db, site)).billed).toBe(2);
  });

  // Guarantee: copies inside one request do not slip past a full plan. Mutation: count only the first copy as over the cap.
  test("copies of a refused event in the same batch do not slip through", async () => {
    const site = await app.newSite({ plan: { limit: 1, enforcement: "hard" } });
    const copied = pageView(site, { eid: "same" });
    await app.sync(site, { events: [pageView(site), copied, copied, { ...pageView(site), eid: "same" }] });
    await app.sync(site, { events: [copied, copied] });
    expect(await figuresOf(app.db, site)).toEqual({ ...nothing, billed: 1, captured: 1 });
  });

  test("a soft plan over its limit is 200 with x-opsmantik-overage, up to its hard cap", async () => {
    const site = await app.newSite({ plan: { limit: 1, enforcement: "soft", capMultiplier: 2 } });
    const headers = [];
    for (let index = 0; index < 3; index++) headers.push(await app.sync(site, pageView(site)));
    expect(headers.map((response) => [response.status, response.headers.get("x-opsmantik-overage")])).toEqual([
      [200, null],
      [200, "true"],
      [429, null],
    ]);
  });

  test("a soft plan without a cap accepts on, and says overage once the worker has counted", async () => {
    const site = await app.newSite({ plan: { limit: 1, enforcement: "soft" } });
    await app.sync(site, { events: [pageView(site), pageView(site)] });
    await app.recover();
    const response = await app.sync(site, pageView(site));
    expect([response.status, response.headers.get("x-opsmantik-overage")]).toEqual([200, "true"]);
  });
});
