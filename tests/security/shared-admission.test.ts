import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { drainEvents } from "#lib/ingest/drain.ts";
import { type IngestApp, type IngestSite, pageView, startIngestApp } from "#tests/support/ingest-app.ts";

/** Requests of one site share a transaction. What one of them brings must not make Postgres refuse it for all. */

let app: IngestApp;
let site: IngestSite;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
  site = await app.newSite();
});
afterAll(() => app.stop());

/** What no text of Postgres can hold, wherever a stranger can put it. */
const hostile: [string, Record<string, unknown>, Record<string, string>][] = [
  ["a scope with NUL", { consent_scopes: ["analytics", "marketing", "\0"] }, {}],
  ["half a character for a scope", { consent_scopes: ["analytics", "marketing", "\ud800"] }, {}],
  ["a refusal with NUL", { consent_scopes: ["analytics", "\0"] }, {}],
  ["a scope with NUL in meta", { meta: { fp: "m", consent_scopes: ["analytics", "marketing", "\0"] } }, {}],
  ["a city with NUL", {}, { "x-vercel-ip-city": "a%00b" }],
  ["a city that is cut in the middle of a character", {}, { "x-vercel-ip-city": encodeURIComponent(`${"a".repeat(99)}😀`) }],
  [
    "an address with NUL and half characters",
    { u: "https://shop.test/%00/\ud800?utm_source=%00\ud800", r: "https://a.test/\0?utm_term=%00" },
    {},
  ],
  ["names with NUL and half characters", { ec: "a\0\ud800", ea: "b\0\ud800", el: "c\0\ud800", eid: "d\0\ud800", sid: "e\0\ud800" }, {}],
  [
    "a campaign with NUL and half characters",
    { meta: { fp: "f\0\ud800", utm_source: "\0\ud800", gclid: "\0\ud800", device: "\0\ud800" } },
    {},
  ],
];

// Guarantee: one request in a shared call never makes the others go again one by one. Mutation: keep scopes as they were sent.
describe("a stranger whose event Postgres could not hold", () => {
  test.each(hostile)("%s: it is admitted with what can be stored of it, and so is the event beside it", async (_what, event, headers) => {
    const response = await app.sync(site, { s: site.siteId, events: [pageView(site), { ...pageView(site), ...event }] }, headers);
    expect([response.status, await response.json()]).toEqual([200, expect.objectContaining({ results: ["accepted", "accepted"] })]);
    expect(await drainEvents()).toMatchObject({ stored: 2, failed: 0 });
  });

  test("a scope that only looks like marketing once its NUL is gone grants nothing", async () => {
    await app.sync(site, pageView(site, { consent_scopes: ["analytics", "mark\0eting"], meta: { fp: "looks", gclid: "gclid-looks" } }));
    await drainEvents();
    const [visit] = await app.db.sql`select marketing_consent, gclid from public.sessions where visitor_id = 'looks'`;
    expect(visit).toEqual({ marketing_consent: false, gclid: null });
  });

  test("a choice with NUL is a choice without that scope", async () => {
    const response = await app.sync(site, { s: site.siteId, fp: "chooser", consent_scopes: ["analytics", "\0"], t: 0 });
    expect(response.status).toBe(200);
    const choices = await app.db.sql`select scopes from public.consent_choices where visitor_id = 'chooser'`;
    expect(choices).toEqual([{ scopes: ["analytics"] }]);
  });
});
