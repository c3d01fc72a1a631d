import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { POST as trackView } from "#app/api/track/pv/route.ts";
import { drainEvents } from "#lib/ingest/drain.ts";
import { viewsOfVisitor } from "#lib/oci/handout/page-views.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import { browser, figuresOf, type IngestApp, type IngestSite, pageView, startIngestApp } from "#tests/support/ingest-app.ts";
import { send } from "#tests/support/requests.ts";
import { stopClock } from "#tests/support/stop-clock.ts";

/** A stranger who has a site's public id, which every visitor can read in the page. */

let app: IngestApp;
let site: IngestSite;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
beforeEach(async () => {
  site = await app.newSite();
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());

const view = (fp: string, address: string, more: object = {}) =>
  send(trackView, {
    path: "/api/track/pv",
    body: { siteId: site.siteId, gclid: `g-${fp}`, fp, t: 0, ...more },
    headers: { origin: site.origin, "user-agent": browser, "x-forwarded-for": address },
  });

describe("forges page views", () => {
  // Guarantee: one machine fills at most a sixth of what waits for a script. Mutation: leave byRange out of pageViewLimits.
  test("from every address of its range: 2,500 a day, and other ranges go on", { timeout: 120_000 }, async () => {
    await deliverySettings(app.db.sql, { siteId: site.siteId, owner: app.owner }, { pageViewsEnabled: true });
    stopClock();
    let kept = 0;
    for (let sent = 0; sent < 2_560; sent += 20) {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => view(randomUUID(), `203.0.113.${1 + ((sent + index) % 250)}`)),
      );
      kept += answers.filter(({ status }) => status === 200).length;
    }
    expect(kept).toBe(2_500);
    expect((await view(randomUUID(), "198.51.100.9")).status).toBe(200);
  });

  test.each(["erased-1", "system/1", "../x", "a b", "x".repeat(65), "*"])("of a visitor called %j: none is kept", async (fp) => {
    await deliverySettings(app.db.sql, { siteId: site.siteId, owner: app.owner }, { pageViewsEnabled: true });
    await view(fp, randomUUID());
    expect(await viewsOfVisitor(site.siteId, fp)).toEqual([]);
  });
});

describe("sends from a page that is not the site's", () => {
  const host = () => new URL(site.origin).hostname;
  test.each<[string, () => string]>([
    ["with a dot at its end", () => `https://${host()}.`],
    ["in capitals", () => `https://${host().toUpperCase()}`],
    ["over http", () => `http://${host()}`],
    ["with the site's name as a user", () => `https://${host()}@evil.example`],
    ["that ends in the site's name", () => `https://evil-${host()}`],
    ["that begins with the site's name", () => `https://${host()}.evil.example`],
    ["two levels below", () => `https://a.www.${host()}`],
    ["with a path", () => `https://${host()}/`],
    ["that is null", () => "null"],
    ["that is a list", () => `https://${host()}, https://evil.example`],
    ["of an extension", () => `chrome-extension://${host()}`],
    ["with a tab in it", () => `https://${host()}\t.evil.example`],
  ])("%s: 403, and nothing is stored", async (_what, origin) => {
    const response = await app.sync(site, pageView(site), { origin: origin() });
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([403, "*"]);
    expect((await figuresOf(app.db, site)).billed).toBe(0);
  });
});

describe("writes what it likes into an event", () => {
  test.each<[string, object]>([
    ["a page that is a script", { u: "javascript:alert(1)//https://x" }],
    ["a page that is data", { u: "data:text/html,<script>" }],
    ["a file", { u: "file:///etc/passwd" }],
    ["a page without a host", { u: "https://" }],
    ["an object for a page", { u: { toString: "x" } }],
  ])("%s: 400, and nothing is billed", async (_what, change) => {
    expect((await app.sync(site, pageView(site, { url: undefined, ...change }))).status).toBe(400);
    expect((await figuresOf(app.db, site)).billed).toBe(0);
  });

  test("a password, a token and a number in the page's address: none reaches a table", async () => {
    const u = `${site.origin.replace("https://", "https://ayse:hunter2@")}/reset/905321234567?token=s3cr3t&phone=5321234567#access_token=t0k3n`;
    await app.sync(site, pageView(site, { u, r: u, meta: { fp: "leaky", utm_source: "a@b.c" } }));
    await drainEvents();
    const rows = await app.db.sql`select to_jsonb(e)::text as text from private.events e where site_id = ${site.siteUuid}
      union all select to_jsonb(s)::text from public.sessions s where site_id = ${site.siteUuid}
      union all select b.payload::text from public.ingest_fallback_buffer b where b.site_id = ${site.siteUuid}`;
    expect(rows.length).toBeGreaterThan(0);
    for (const { text } of rows) expect(text).not.toMatch(/hunter2|s3cr3t|5321234567|t0k3n|a@b\.c/);
  });

  test.each<[string, object]>([
    ["a time to come", { t: -86_400_000 }],
    ["a time before all times", { t: 1e308 }],
    ["no number for a time", { t: "NaN" }],
  ])("%s: it happened between yesterday and now", async (_what, change) => {
    await app.sync(site, pageView(site, { ...change, meta: { fp: "clock" } }));
    await drainEvents();
    const [visit] = await app.db.sql`select started_at between now() - interval '25 hours' and now() + interval '1 minute' as sane
      from public.sessions where site_id = ${site.siteUuid}`;
    expect(visit?.sane).toBe(true);
  });

  test.each<[string, object]>([
    [
      "a price and a state",
      {
        billable: false,
        value_cents: 1,
        seal_status: "sealed",
        site_id: randomUUID(),
        siteUuid: randomUUID(),
        reporter: "system",
        signed: true,
      },
    ],
    ["a prototype", JSON.parse('{"__proto__": {"reporter": "system"}, "constructor": {"prototype": {"signed": true}}}')],
    [
      "another reporter in its meta",
      { meta: { fp: "x", reporter: "system", marketingConsent: true, network: "0.0.0.0/24", phone: "+905321112233" } },
    ],
  ])("%s: it is the tracker's event all the same, billed once", async (_what, change) => {
    await app.sync(site, pageView(site, { ec: "conversion", ea: "phone_call", ...change }));
    await drainEvents();
    const [call] = await app.db.sql`select phone, caller_hash, signed_at, status from public.calls where site_id = ${site.siteUuid}`;
    expect({ ...call }).toEqual({ phone: null, caller_hash: null, signed_at: null, status: "intent" });
    expect(await figuresOf(app.db, site)).toMatchObject({ billed: 1 });
  });

  test.each(["system/1", "erased-1"])("a choice in the name of %s: refused", async (fp) => {
    expect((await app.sync(site, { s: site.siteId, fp, consent_scopes: [], t: 0 })).status).toBe(400);
  });

  test.each<[string, () => unknown]>([
    ["a hundred thousand nulls", () => ({ s: site.siteId, events: Array(60_000).fill(null) })],
    ["a thousand levels", () => `{"s":"${site.siteId}","u":"https://x.y","meta":${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}}`],
    [
      "a thousand keys",
      () => ({ ...pageView(site), ...Object.fromEntries(Array.from({ length: 9_000 }, (_, index) => [`k${index}`, index])) }),
    ],
    ["two hundred kilobytes of label", () => pageView(site, { el: "x".repeat(200_000) })],
    ["a list for a site", () => ({ ...pageView(site), s: [site.siteId] })],
    ["two sites", () => ({ events: [pageView(site), { ...pageView(site), s: "0".repeat(32) }] })],
  ])("%s: answered, with no 500", async (_what, body) => {
    const response = await app.sync(site, body());
    expect(response.status).toBeLessThan(500);
  });
});

describe("signs with its own secret", () => {
  test.each<[string, Record<string, string>]>([
    ["for another site", {}],
    ["with the site's id in capitals", { upper: "1" }],
  ])("%s: 401, and nothing is billed", async (_what, { upper }) => {
    const own = await app.newSite();
    const named = {
      ...site,
      siteId: (upper ? site.siteId.toUpperCase() : site.siteId) as IngestSite["siteId"],
      callSecret: own.callSecret,
    };
    expect((await app.call(named, { event_id: "1", phone_number: "+905321112233" })).status).toBe(401);
    expect((await figuresOf(app.db, site)).billed).toBe(0);
  });
});
