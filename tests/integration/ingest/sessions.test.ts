import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { drainEvents } from "#lib/ingest/drain.ts";
import { type LeadSigns, leadScore, scoreBreakdown } from "#tests/models/lead-score.ts";
import { type IngestApp, type IngestSite, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterAll(() => app.stop());

const minutes = (count: number) => count * 60_000;
const days = (count: number) => count * 86_400_000;
const start = Date.now() - days(200);

/** Sends an event and stores it as received that long after the start. */
async function arrive(site: IngestSite, afterMs: number, event: Record<string, unknown>): Promise<void> {
  const response = await app.sync(site, event);
  expect(response.status).toBe(200);
  await app.db.sql`update public.ingest_fallback_buffer set created_at = ${new Date(start + afterMs)} where status = 'PENDING'`;
  await drainEvents();
}

const sessionsOf = (site: IngestSite) =>
  app.db.sql`select * from public.sessions where site_id = ${site.siteUuid} order by started_at, id`.then((rows) => [...rows]);
const visitor = (site: IngestSite, change: Record<string, unknown> = {}, meta: Record<string, unknown> = {}) =>
  pageView(site, { ...change, meta: { fp: "ayse", ...meta } });

describe("a visit", () => {
  test("goes on while less than 30 minutes pass between events, and is a new one after that", async () => {
    const site = await app.newSite();
    for (const at of [0, minutes(29), minutes(58), minutes(88)]) await arrive(site, at, visitor(site));
    const sessions = await sessionsOf(site);
    expect(sessions.map((session) => session.event_count)).toEqual([3, 1]);
    expect(Number(sessions[0]?.last_seen_at) - Number(sessions[0]?.started_at)).toBe(minutes(58));
  });

  test("belongs to one visitor of one site", async () => {
    const [one, other] = [await app.newSite(), await app.newSite()];
    await arrive(one, 0, visitor(one));
    await arrive(one, 1, visitor(one, {}, { fp: "mehmet" }));
    await arrive(other, 2, visitor(other));
    expect((await sessionsOf(one)).map((session) => session.visitor_id)).toEqual(["ayse", "mehmet"]);
    expect(await sessionsOf(other)).toHaveLength(1);
  });

  // Guarantee: an event replayed days later does not change today's visit. Mutation: look at last_seen_at alone.
  test("an event that is stored late belongs to the visit it happened in", async () => {
    const site = await app.newSite();
    await arrive(site, days(3), visitor(site));
    await arrive(site, 0, visitor(site, {}, { gclid: "old" }));
    await arrive(site, days(3) - minutes(10), visitor(site));
    const sessions = await sessionsOf(site);
    expect(sessions.map((session) => [session.gclid, session.event_count])).toEqual([
      ["old", 1],
      [null, 2],
    ]);
  });

  test("keeps its first page, referrer, device, place and campaign", async () => {
    const site = await app.newSite();
    const first = visitor(
      site,
      { u: `${site.origin}/landing`, r: "https://www.google.com/" },
      { utm_source: "google", utm_term: "çilingir" },
    );
    const response = await app.sync(site, first, {
      "user-agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) Mobile/15E148 Safari/604.1",
      "x-vercel-ip-country": "TR",
      "x-vercel-ip-city": "%C4%B0stanbul",
    });
    expect(response.status).toBe(200);
    await app.sync(site, visitor(site, { u: `${site.origin}/second` }, { utm_source: "later" }));
    await drainEvents();
    const [session] = await sessionsOf(site);
    expect(session).toMatchObject({
      landing_url: `${site.origin}/landing`,
      referrer: "https://www.google.com/",
      device: "mobile",
      country: "TR",
      city: "İstanbul",
      utm: { source: "google", term: "çilingir" },
      from_google: true,
      event_count: 2,
    });
  });
});

describe("the click", () => {
  const clicksOf = async (site: IngestSite) =>
    (await sessionsOf(site)).map((session) => [session.gclid, session.clicked_at && Number(session.clicked_at) - start]);

  // Guarantee: the ad that brought the visitor back gets the lead. Mutation: let any click replace the one before.
  test("the newer one wins, in whichever order they are stored", async () => {
    const site = await app.newSite();
    await arrive(site, minutes(1), visitor(site, {}, { gclid: "first", cts: start }));
    await arrive(site, minutes(2), visitor(site, {}, { gclid: "second", cts: start + minutes(2) }));
    expect(await clicksOf(site)).toEqual([["second", minutes(2)]]);
    await arrive(site, minutes(3), visitor(site, {}, { gclid: "first", cts: start }));
    expect(await clicksOf(site)).toEqual([["second", minutes(2)]]);
    await arrive(site, minutes(4), visitor(site));
    expect(await clicksOf(site)).toEqual([["second", minutes(2)]]);
  });

  // Guarantee: a click is as old as when it was first seen, however often it is sent again.
  test("the same one keeps its first time, in this visit and in later ones", async () => {
    const site = await app.newSite();
    await arrive(site, 0, visitor(site, {}, { gclid: "same" }));
    await arrive(site, minutes(5), visitor(site, {}, { gclid: "same" }));
    await arrive(site, days(40), visitor(site, {}, { gclid: "same" }));
    expect(await clicksOf(site)).toEqual([
      ["same", 0],
      ["same", 0],
    ]);
    await arrive(site, days(91), visitor(site, {}, { gclid: "same" }));
    expect((await clicksOf(site))[2]).toEqual([null, null]);
  });

  test("wbraid and gbraid are kept like gclid", async () => {
    const site = await app.newSite();
    await arrive(site, 0, visitor(site, {}, { wbraid: "w", gbraid: "g" }));
    const [session] = await sessionsOf(site);
    expect([session?.gclid, session?.wbraid, session?.gbraid, Number(session?.clicked_at) - start]).toEqual([null, "w", "g", 0]);
  });

  test("a visitor whom an ad brought before is a returning ad user, from the next visit on", async () => {
    const site = await app.newSite();
    await arrive(site, 0, visitor(site, {}, { gclid: "click" }));
    await arrive(site, minutes(10), visitor(site));
    await arrive(site, days(1), visitor(site));
    expect((await sessionsOf(site)).map((session) => session.returning_ad_user)).toEqual([false, true]);
  });

  // Guarantee: consent that is withdrawn takes the click with it, and a call after it has none.
  test("is forgotten when marketing consent is withdrawn", async () => {
    const site = await app.newSite();
    await arrive(site, 0, visitor(site, { consent_scopes: ["analytics", "marketing"] }, { gclid: "click" }));
    await arrive(site, 1, phoneCall(site, { consent_scopes: ["analytics"], meta: { fp: "ayse", gclid: "click" } }));
    const [session] = await sessionsOf(site);
    expect([session?.gclid, session?.clicked_at, session?.marketing_consent]).toEqual([null, null, false]);
    const [call] = await app.db.sql`select gclid, phone, marketing_consent from public.calls where site_id = ${site.siteUuid}`;
    expect(call).toEqual({ gclid: null, phone: null, marketing_consent: false });
  });
});

describe("the lead score", () => {
  test("a call carries the score of its session at that moment, with the reasons", async () => {
    const site = await app.newSite();
    await arrive(site, 0, visitor(site, { ea: "scroll_depth", ev: 90, r: "https://www.google.com/" }));
    await arrive(site, 1, visitor(site, { ea: "hover_intent" }));
    await arrive(site, 2, phoneCall(site, { el: "tel:+902121112233", meta: { fp: "ayse" } }));
    await arrive(site, 3, phoneCall(site, { ea: "whatsapp", meta: { fp: "ayse" } }));
    const calls = await app.db.sql`select channel, phone, status, lead_score, score_breakdown from public.calls
      where site_id = ${site.siteUuid} order by called_at`;
    const breakdown = { conversion: 50, interaction: 10, scroll50: 10, scroll90: 20, hoverIntent: 15, google: 5 };
    expect([...calls]).toEqual([
      { channel: "phone", phone: null, status: "intent", lead_score: 100, score_breakdown: breakdown },
      { channel: "whatsapp", phone: null, status: "intent", lead_score: 100, score_breakdown: breakdown },
    ]);
  });

  // Guarantee: the score that the database stores and the one that the screens explain are the same rule.
  test("the database and lib/leads agree on every combination", async () => {
    const site = await app.newSite();
    const both = [false, true];
    const combinations: LeadSigns[] = both.flatMap((conversion) =>
      both.flatMap((interaction) =>
        [0, 49, 50, 89, 90, 100].flatMap((scrollDepth) =>
          both.flatMap((hoverIntent) =>
            both.flatMap((google) =>
              both.map((returningAdUser) => ({ conversion, interaction, scrollDepth, hoverIntent, google, returningAdUser })),
            ),
          ),
        ),
      ),
    );
    await app.db
      .sql`insert into public.sessions (site_id, visitor_id, started_at, last_seen_at, marketing_consent, event_count, had_conversion,
        had_interaction, scroll_depth, had_hover_intent, from_google, returning_ad_user)
      select ${site.siteUuid}, 'all', now(), now(), true, n, c.conversion, c.interaction, c."scrollDepth", c."hoverIntent", c.google, c."returningAdUser"
      from jsonb_array_elements(${app.db.sql.json(combinations as never)}) with ordinality e(value, n),
        jsonb_to_record(e.value) as c(conversion boolean, interaction boolean, "scrollDepth" int, "hoverIntent" boolean, google boolean, "returningAdUser" boolean)`;
    const rows = await app.db.sql`select lead_score as score, private.score_breakdown(s) as breakdown from public.sessions s
      where site_id = ${site.siteUuid} order by event_count`;
    expect([...rows]).toEqual(combinations.map((signs) => ({ score: leadScore(signs), breakdown: scoreBreakdown(signs) })));
    expect(rows).toHaveLength(192);
  });
});
