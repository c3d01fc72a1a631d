import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { drainEvents } from "#lib/ingest/drain.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { service } from "#tests/fixtures/service.ts";
import { figuresOf, type IngestApp, type IngestSite, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";
import { callOf, handedOut, saleOf, sealOnlyCall, sendingSite } from "#tests/support/lead-journey.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());

const hour = 3_600_000;
const both = ["analytics", "marketing"];
const call = (site: IngestSite, change: Record<string, unknown> = {}, meta: Record<string, unknown> = {}) =>
  phoneCall(site, { ...change, meta: { fp: "ayse", gclid: "click", ...meta } });
const withdraw = (site: IngestSite, change: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  app.sync(
    site,
    { s: site.siteId, fp: "ayse", consent_scopes: [], t: 0, u: `${site.origin}/privacy?gclid=click`, v: 2, ...change },
    headers,
  );
const choicesOf = async (site: IngestSite) =>
  (
    await app.db.sql`select scopes, chosen_at, page_url, tracker_version from public.consent_choices where site_id = ${site.siteUuid}
    order by chosen_at, id`
  ).map((row) => ({ ...row }));
const scopesOf = async (site: IngestSite) => (await choicesOf(site)).map(({ scopes }) => scopes);
const silent = { gclid: null, wbraid: null, gbraid: null, clicked_at: null, phone: null, caller_hash: null, marketing_consent: false };

describe("the message", () => {
  test("is answered 200, written down with its page and version, and never billed", async () => {
    const site = await app.newSite();
    const response = await withdraw(site, { t: 3 * hour });
    expect([response.status, await response.json()]).toEqual([200, { ok: true, status: "consent" }]);
    const [choice] = await choicesOf(site);
    expect(choice).toMatchObject({ scopes: [], page_url: `${site.origin}/privacy`, tracker_version: 2 });
    expect(Math.abs(Date.now() - 3 * hour - Number(choice?.chosen_at))).toBeLessThan(hour / 2);
    expect(await figuresOf(app.db, site)).toEqual({ billed: 0, captured: 0, stored: 0, calls: 0 });
  });

  // Guarantee: whoever takes consent back is heard, whatever else is dropped from that browser.
  test.each([
    ["a browser that looks like a robot", {}, { "user-agent": "Googlebot/2.1" }],
    ["a browser with a privacy signal", { respectsPrivacySignal: true }, { "sec-gpc": "1" }],
    ["a site that requires consent", { consentMode: "required" as const }, {}],
  ])("is taken from %s", async (_name, settings, headers) => {
    const site = await app.newSite(settings);
    expect((await withdraw(site, {}, headers)).status).toBe(200);
    expect(await scopesOf(site)).toEqual([[]]);
  });

  test("an event with empty scopes says the same, and is itself not stored", async () => {
    const site = await app.newSite();
    expect((await app.sync(site, call(site, { consent_scopes: [] }))).status).toBe(204);
    expect(await scopesOf(site)).toEqual([[]]);
    expect((await figuresOf(app.db, site)).billed).toBe(0);
  });

  // Guarantee: of a batch that speaks for several visitors each one is heard. Mutation: take the first few only.
  test("a batch of eight visitors who refuse is eight choices", async () => {
    const site = await app.newSite();
    const events = Array.from({ length: 8 }, (_, index) => call(site, { consent_scopes: [] }, { fp: `visitor-${index}` }));
    expect((await app.sync(site, { events })).status).toBe(204);
    expect(await scopesOf(site)).toEqual(Array(8).fill([]));
  });

  test("twice is one choice, also when the second came over a faster line", async () => {
    const site = await app.newSite();
    await withdraw(site, { t: 5_000 });
    await withdraw(site, { t: 5_000 });
    await withdraw(site, { t: 5_500 });
    expect(await scopesOf(site)).toEqual([[]]);
  });

  test.each([
    ["no visitor", { fp: "" }],
    ["a visitor that is no text", { fp: {} }],
  ])("%s is refused", async (_name, change) => {
    const site = await app.newSite();
    const response = await withdraw(site, change);
    expect([response.status, response.headers.get("x-opsmantik-error-code")]).toEqual([400, "missing_visitor"]);
  });

  // Guarantee: nobody keeps a process busy with one address. Mutation: a pattern that looks at each character again and again.
  test("an address of 200,000 letters is cut and read at once, and choices of visitors who left nothing are forgotten", async () => {
    const site = await app.newSite();
    expect((await withdraw(site, { u: `${site.origin}/${"x".repeat(200_000)}` })).status).toBe(200);
    expect((await choicesOf(site))[0]?.page_url).toHaveLength(2048);
    await service(app.db.sql, "purge_consent_choices", {}, new Date(Date.now() + 3 * 24 * hour));
    expect(await choicesOf(site)).toEqual([]);
  });

  test("scopes that cannot be read grant nothing, and another origin is refused", async () => {
    const site = await app.newSite();
    await withdraw(site, { consent_scopes: "marketing" });
    expect(await scopesOf(site)).toEqual([[]]);
    expect((await withdraw(site, {}, { origin: "https://elsewhere.test" })).status).toBe(403);
  });
});

describe("the last that happened wins, not the last that was processed", () => {
  // Mutation: take each event's own consent in touch_session.
  test("an event from before the withdrawal that arrives after it, offline for hours, undoes nothing", async () => {
    const site = await sendingSite(app);
    await withdraw(site, { t: 1 * hour });
    await app.sync(site, call(site, { consent_scopes: both, t: 5 * hour }));
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject(silent);
    expect(await scopesOf(site)).toEqual([both, []]);
  });

  test("a withdrawal from before a new consent that arrives after it takes nothing", async () => {
    const site = await sendingSite(app);
    await app.sync(site, call(site, { consent_scopes: both, t: 1 * hour }));
    await drainEvents();
    await withdraw(site, { t: 5 * hour });
    expect(await callOf(app, site)).toMatchObject({ gclid: "click", marketing_consent: true });
    expect(await scopesOf(site)).toEqual([[], both]);
  });

  test("consent that comes again counts from there on, and brings nothing back", async () => {
    const site = await sendingSite(app);
    await app.sync(site, call(site, { consent_scopes: both, t: 3 * hour }, { intent_stamp: "before" }));
    await drainEvents();
    await withdraw(site, { t: 2 * hour });
    await app.sync(site, call(site, { consent_scopes: both, t: 1 * hour }, { intent_stamp: "after", gclid: "new" }));
    await drainEvents();
    expect(await callOf(app, site, "before")).toMatchObject(silent);
    expect(await callOf(app, site, "after")).toMatchObject({ gclid: "new", marketing_consent: true });
  });

  // Guarantee: "still no" after a "yes" that is heard of later is not forgotten. Mutation: leave last_said_at alone in note_choice.
  test.each([
    ["in order", [0, 1, 2]],
    ["the yes last", [0, 2, 1]],
    ["the first no last", [2, 1, 0]],
    ["both noes, the later one first", [2, 0, 1]],
    ["the yes first", [1, 2, 0]],
    ["the yes first, then in order", [1, 0, 2]],
  ])("no, yes, no ends in no, heard %s", async (_name, order) => {
    const site = await sendingSite(app);
    const said = [
      () => app.sync(site, pageView(site, { consent_scopes: ["analytics"], t: 3 * hour, meta: { fp: "ayse" } })),
      () => app.sync(site, call(site, { consent_scopes: both, t: 2 * hour })),
      () => withdraw(site, { consent_scopes: ["analytics"], t: 1 * hour }),
    ];
    for (const index of order) {
      await said[index]?.();
      await drainEvents();
    }
    expect(await scopesOf(site)).toEqual([["analytics"], both, ["analytics"]]);
    const { saleId } = await sealOnlyCall(app, site);
    expect(await saleOf(app, saleId)).toMatchObject({ delivery_block: "NO_CONSENT", gclid: null });
    expect(await handedOut(app, site)).toEqual([]);
  });

  test("the journey of a lead says when consent was given and withdrawn", async () => {
    const site = await sendingSite(app);
    await app.sync(site, call(site, { consent_scopes: both, t: 60_000 }));
    await drainEvents();
    await withdraw(site);
    const { id } = await callOf(app, site);
    const lead = await callAs<{ choices: { scopes: string[]; path: string }[] }>(
      app.db.sql,
      app.owner,
      (tx) => tx`select public.desk_lead(${site.siteId}, ${String(id)})`,
    );
    expect(lead.choices.map(({ scopes, path }) => [scopes, path])).toEqual([
      [both, expect.stringMatching(/^\//)],
      [[], "/privacy"],
    ]);
  });
});
