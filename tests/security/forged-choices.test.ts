import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { GET as tidyCron } from "#app/api/cron/ingest/partitions/route.ts";
import { drainEvents } from "#lib/ingest/drain.ts";
import { type IngestApp, type IngestSite, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";
import { send } from "#tests/support/requests.ts";
import { stopClock } from "#tests/support/stop-clock.ts";

/** A stranger who says what visitors chose. A choice is never billed and under no ceiling. */

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());

const choose = (site: IngestSite, fp: string, scopes: string[], address: string) =>
  app.sync(site, { s: site.siteId, fp, consent_scopes: scopes, t: 0 }, { "x-forwarded-for": address });
const rowsOf = async (site: IngestSite) =>
  (await app.db.sql`select count(*)::int as n from public.consent_choices where site_id = ${site.siteUuid}`)[0]?.n;
const both = ["analytics", "marketing"];

// Guarantee: one machine fills no table, and keeps nobody behind its address from withdrawing. Mutations: owedOnly = false; take no refusal above
// the room; take a known visitor's every choice.
test("invents visitors who choose: one range writes 2,500 a day, and a real visitor behind it still withdraws", {
  timeout: 120_000,
}, async () => {
  const site = await app.newSite();
  const real = { fp: "ayse", gclid: "her-click", intent_stamp: randomUUID() };
  await app.sync(site, phoneCall(site, { consent_scopes: both, meta: real }));
  await drainEvents();
  stopClock();
  let taken = 0;
  let last: Response | undefined;
  for (let sent = 0; sent < 2_700; sent += 20) {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => choose(site, randomUUID(), [], `203.0.113.${1 + ((sent + index) % 250)}`)),
    );
    taken += answers.filter(({ status }) => status === 200).length;
    last = answers.at(-1);
  }
  expect(taken).toBeGreaterThanOrEqual(2_500);
  expect(taken).toBeLessThanOrEqual(2_532);
  expect([last?.status, last?.headers.get("retry-after"), last?.headers.get("x-opsmantik-ratelimit")]).toEqual([429, "900", "1"]);
  const before = await rowsOf(site);

  expect((await choose(site, "ayse", ["analytics"], "203.0.113.9")).status).toBe(200);
  const [call] = await app.db.sql`select gclid, marketing_consent from public.calls where site_id = ${site.siteUuid}`;
  expect(call).toEqual({ gclid: null, marketing_consent: false });
  expect(await rowsOf(site)).toBe(before + 1);

  const answers: number[] = [];
  for (const scopes of [both, [], both, ["analytics"]]) answers.push((await choose(site, "ayse", scopes, "203.0.113.9")).status);
  expect(answers).toEqual([429, 200, 429, 200]); // what she agrees to comes again; what she refuses stands
  expect(await rowsOf(site)).toBe(before + 1);
  expect((await choose(site, randomUUID(), [], "198.51.100.9")).status).toBe(200);
});

test("above a site's ceiling, one range's refusals end with the same room", { timeout: 120_000 }, async () => {
  const site = await app.newSite();
  stopClock();
  for (let sent = 0; sent < 2_560; sent += 20)
    await Promise.all(Array.from({ length: 20 }, (_, index) => choose(site, randomUUID(), [], `203.0.113.${index}`)));
  for (let batch = 0; batch < 12; batch++)
    await app.sync(site, { s: site.siteId, events: Array.from({ length: 100 }, () => ({ ...pageView(site), s: undefined })) });
  const before = await rowsOf(site);
  const refusing = {
    s: site.siteId,
    events: Array.from({ length: 99 }, () => pageView(site, { consent_scopes: [], meta: { fp: randomUUID() } })),
  };
  expect((await app.sync(site, refusing, { "x-forwarded-for": "203.0.113.8" })).status).toBe(429);
  expect(await rowsOf(site)).toBe(before);
});

// Guarantee: what a flood left behind is gone within days, however much it is. Mutation: one step of the purge a day.
test("leaves 45,000 choices of visitors nobody saw: the next night forgets them all", async () => {
  const site = await app.newSite();
  await app.db.sql`
    insert into public.consent_choices (site_id, visitor_id, scopes, chosen_at, last_said_at, received_at)
    select ${site.siteUuid}, 'invented-' || n, '{}', now() - interval '3 days', now() - interval '3 days', now() - interval '3 days'
    from generate_series(1, 45000) n`;
  const response = await send(tidyCron, { method: "GET", headers: { authorization: `Bearer ${app.env.CRON_SECRET}` } });
  expect([response.status, await rowsOf(site)]).toEqual([200, 0]);
});
