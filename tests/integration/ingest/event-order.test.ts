import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { drainEvents } from "#lib/ingest/drain.ts";
import { figuresOf, type IngestApp, type IngestSite, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";
import { callOf, handedOut, sealOnlyCall, sendingSite } from "#tests/support/lead-journey.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterAll(() => app.stop());

const hour = 3_600_000;
const close = (at: unknown, expected: number) => expect(Math.abs(Number(at) - expected)).toBeLessThan(600_000);
const sessionOf = async (site: IngestSite) => (await app.db.sql`select * from public.sessions where site_id = ${site.siteUuid}`)[0];

/** A visit as the tracker sends it: each event with its age at the moment of sending. */
function visitOf(site: IngestSite, fp: string, { ages = [30_000, 20_000, 10_000, 0] } = {}) {
  const meta = { fp, gclid: `click-${fp}` };
  const [view, scroll, hover, call] = ages;
  return [
    pageView(site, { u: `${site.origin}/landing`, r: "https://www.google.com/", t: view, meta }),
    pageView(site, { u: `${site.origin}/landing`, ea: "scroll_depth", ev: 90, t: scroll, meta }),
    pageView(site, { u: `${site.origin}/prices`, ea: "hover_intent", r: `${site.origin}/landing`, t: hover, meta }),
    phoneCall(site, { u: `${site.origin}/contact`, r: `${site.origin}/prices`, t: call, meta: { ...meta, intent_stamp: `stamp-${fp}` } }),
  ];
}
const breakdown = { conversion: 50, interaction: 10, scroll50: 10, scroll90: 20, hoverIntent: 15, google: 5 };

describe("events of one batch", () => {
  // Guarantee: the score and the landing page are those of the visit, not of chance. Mutation: order by created_at and id alone.
  test.each([
    ["with their ages", undefined],
    ["all of one moment", { ages: [0, 0, 0, 0] }],
  ])("are stored in the order sent, %s: a hundred visits, one score and one landing page", async (_name, ages) => {
    const site = await app.newSite();
    for (let visitor = 0; visitor < 100; visitor++) await app.sync(site, { events: visitOf(site, `v${visitor}`, ages) });
    await drainEvents();
    const calls = await app.db.sql`select distinct lead_score, score_breakdown from public.calls where site_id = ${site.siteUuid}`;
    expect([...calls]).toEqual([{ lead_score: 100, score_breakdown: breakdown }]);
    const sessions = await app.db
      .sql`select landing_url, referrer, count(*)::int as n from public.sessions where site_id = ${site.siteUuid} group by 1, 2`;
    expect([...sessions]).toEqual([{ landing_url: `${site.origin}/landing`, referrer: "https://www.google.com/", n: 100 }]);
  });

  // Guarantee: two workers that store a visit's batches in the wrong order come to the same visit and the same score.
  // Mutation: leave out rescore_calls, or take landing page and referrer from the first event stored.
  test("whose batches are stored the other way round make the same visit", async () => {
    const site = await app.newSite();
    const [view, scroll, hover, call] = visitOf(site, "ayse");
    await app.sync(site, { events: [call] });
    await drainEvents();
    expect((await callOf(app, site)).score_breakdown).toEqual({ conversion: 50 });
    for (const late of [hover, scroll, view]) {
      await app.sync(site, { events: [late] });
      await drainEvents();
    }
    expect(await callOf(app, site)).toMatchObject({ lead_score: 100, score_breakdown: breakdown });
    expect(await sessionOf(site)).toMatchObject({
      landing_url: `${site.origin}/landing`,
      referrer: "https://www.google.com/",
      event_count: 4,
    });
  });

  test("what happens after the call does not raise its score", async () => {
    const site = await app.newSite();
    const [view, scroll, hover, call] = visitOf(site, "ayse", { ages: [30_000, 0, 0, 20_000] });
    await app.sync(site, { events: [view, call, scroll, hover] });
    await drainEvents();
    expect((await callOf(app, site)).score_breakdown).toEqual({ conversion: 50, interaction: 10, google: 5 });
  });
});

describe("an event's age", () => {
  // Guarantee: Google is told when the person called, not when the phone found a network. Mutation: use the receive time.
  test("a call from a phone that was offline for 20 hours has its own time, in its own visit, and is billed when it came", async () => {
    const site = await sendingSite(app);
    await app.sync(site, pageView(site, { t: 20 * hour + 60_000, meta: { fp: "ayse", gclid: "click" } }));
    await app.sync(site, phoneCall(site, { t: 20 * hour, meta: { fp: "ayse", gclid: "click" } }));
    await sealOnlyCall(app, site);
    const then = Date.now() - 20 * hour;
    close((await callOf(app, site)).called_at, then);
    close((await sessionOf(site))?.last_seen_at, then);
    const [row] = await handedOut(app, site);
    close(Date.parse(String(row?.conversionTime)), then);
    const [billed] = await app.db.sql`select max(created_at) as at from public.ingest_idempotency where site_id = ${site.siteUuid}`;
    close(billed?.at, Date.now());
  });

  test.each([
    ["more than a day", 9e12, -24 * hour],
    ["in the future", -5 * hour, 0],
  ])("%s is bounded", async (_name, t, expected) => {
    const site = await app.newSite();
    await app.sync(site, phoneCall(site, { t }));
    await drainEvents();
    close((await callOf(app, site)).called_at, Date.now() + expected);
  });
});

describe("a click's age", () => {
  const dueAt = async (site: IngestSite) =>
    Number((await app.db.sql`select not_before from public.offline_conversion_queue where site_id = ${site.siteUuid}`)[0]?.not_before);

  // Guarantee: a browser's wrong clock neither sends a conversion too early nor loses its click. Mutation: believe meta.cts.
  test.each([
    ["8 hours behind", 8 * hour],
    ["100 days behind", 100 * 24 * hour],
    ["a year ahead", -365 * 24 * hour],
  ])("is by our first sight of it, with a browser's clock %s", async (_name, behind) => {
    const site = await sendingSite(app);
    await app.db.sql`update public.sites set click_min_age_hours = 6 where id = ${site.siteUuid}`;
    await app.sync(site, phoneCall(site, { meta: { fp: "ayse", gclid: "click", cts: Date.now() - behind } }));
    await sealOnlyCall(app, site);
    expect(await callOf(app, site)).toMatchObject({ gclid: "click" });
    close((await callOf(app, site)).clicked_at, Date.now());
    close(await dueAt(site), Date.now() + 6 * hour);
  });

  test("a click seen hours ago in an offline browser is as old as that", async () => {
    const site = await sendingSite(app);
    await app.sync(site, phoneCall(site, { t: 7 * hour, meta: { fp: "ayse", gclid: "click" } }));
    await drainEvents();
    close((await callOf(app, site)).clicked_at, Date.now() - 7 * hour);
  });
});

describe("events that name nobody", () => {
  // Guarantee: one person's call never carries another's click. Mutation: one visitor "unknown" for all.
  test("are each a visitor of their own", async () => {
    const site = await app.newSite();
    const anonymous = { eid: undefined, sid: undefined };
    await app.sync(site, pageView(site, { ...anonymous, u: `${site.origin}/a`, meta: { gclid: "click-of-a" } }));
    await app.sync(site, phoneCall(site, { ...anonymous, u: `${site.origin}/b`, meta: {} }));
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ gclid: null });
    const [visitors] = await app.db.sql`select count(distinct visitor_id)::int as n from public.sessions where site_id = ${site.siteUuid}`;
    expect(visitors?.n).toBe(2);
  });
});

describe("two different events", () => {
  // Guarantee: no event swallows another because their texts run together. Mutation: join category, action and label in the key.
  test.each([
    ["whose category and action meet in a slash", { ec: "nav/top", ea: "click" }, { ec: "nav", ea: "top/click" }],
    ["whose action and label meet in a slash", { ea: "click/a", el: "b" }, { ea: "click", el: "a/b" }],
    ["whose labels are alike for 300 characters", { ea: "click", el: `${"x".repeat(300)}1` }, { ea: "click", el: `${"x".repeat(300)}2` }],
  ])("%s are two units", async (_name, one, other) => {
    const site = await app.newSite();
    const same = { u: `${site.origin}/`, eid: undefined, meta: { fp: "ayse" } };
    await app.sync(site, { events: [pageView(site, { ...same, ...one }), pageView(site, { ...same, ...other })] });
    expect((await figuresOf(app.db, site)).billed).toBe(2);
  });
});
