import { randomUUID } from "node:crypto";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { GET as noteBusyDays } from "#app/api/cron/ingest/busy-days/route.ts";
import { drainEvents } from "#lib/ingest/drain.ts";
import { siteCeilings } from "#lib/tenancy/site-ceilings.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { setCeilings } from "#tests/fixtures/site.ts";
import { createPerson } from "#tests/fixtures/team.ts";
import { dropsOf, figuresOf, type IngestApp, type IngestSite, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";
import { send } from "#tests/support/requests.ts";
import { stopClock } from "#tests/support/stop-clock.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());

const batchOf = (site: IngestSite, events: number) => ({
  s: site.siteId,
  events: Array.from({ length: events }, () => ({ ...pageView(site), s: undefined })),
});
/** Sends batches of 100 from an address each, until one is refused. */
async function flood(site: IngestSite, batchesMax: number): Promise<{ accepted: number; refused: Response | null }> {
  for (let sent = 0; sent < batchesMax; sent++) {
    const response = await app.sync(site, batchOf(site, 100), { "x-forwarded-for": randomUUID() });
    if (response.status === 429) return { accepted: sent * 100, refused: response };
  }
  return { accepted: batchesMax * 100, refused: null };
}
const read = async (site: IngestSite, person = app.owner, at?: Date) =>
  siteCeilings.parse(await callAs(app.db.sql, person, (tx) => tx`select public.read_site_ceilings(${site.siteId})`, at));
/** A past day as the site's own events wrote it down. */
async function pastDay(site: IngestSite, daysAgo: number, events: number): Promise<void> {
  const at = new Date(Date.UTC(2026, 5, 1, 12) - daysAgo * 86_400_000);
  await app.db.sql`insert into public.ingest_idempotency (site_id, idempotency_key, event_name, created_at, expires_at)
    select ${site.siteUuid}, sha256((${daysAgo}::text || '/' || n)::bytea), 'interaction/view', ${at.toISOString()}, ${at.toISOString()}::timestamptz + interval '1 year'
    from generate_series(1, ${events}) n`;
  const nextDay = new Date(at.getTime() + 86_400_000).toISOString();
  await app.db.sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${nextDay}, true)`;
    await tx`select public.note_busy_days()`;
  });
}
const june = new Date(Date.UTC(2026, 5, 1, 12));

// Guarantee: whatever a stranger sends, from however many addresses, a site is billed for a bounded number, and its plan is not filled in a moment.
test("a flood from many addresses ends at the site's ceiling: nothing above it is stored or billed, and the owner sees it", async () => {
  const site = await app.newSite();
  stopClock();
  const { accepted, refused } = await flood(site, 15);
  expect(accepted).toBe(1000);
  expect([refused?.headers.get("x-opsmantik-ratelimit"), refused?.headers.get("x-opsmantik-quota-exceeded")]).toEqual(["1", null]);
  expect(Number(refused?.headers.get("retry-after"))).toBeLessThanOrEqual(60);
  expect((await figuresOf(app.db, site)).billed).toBe(1000);
  await expect.poll(() => dropsOf(app.db, site), { timeout: 10_000 }).toEqual({ ceiling: 100 });
  expect((await read(site)).turnedAway).toMatchObject([{ events: 100 }]);
});

test("a day's ceiling asks trackers to come back within a quarter of an hour, not tomorrow", async () => {
  const site = await app.newSite();
  await setCeilings(app.db.sql, { ...site, owner: app.owner }, { dayMax: 1000 });
  stopClock();
  const { accepted, refused } = await flood(site, 15);
  expect(accepted).toBe(1000);
  expect(Number(refused?.headers.get("retry-after"))).toBeLessThanOrEqual(900);
});

test("a flood keeps no visitor from withdrawing consent", async () => {
  const site = await app.newSite();
  stopClock();
  await flood(site, 15);
  const choice = await app.sync(site, { s: site.siteId, fp: "visitor", consent_scopes: [], t: 0 });
  expect([choice.status, (await choice.json()).status]).toEqual([200, "consent"]);
});

// Guarantee: what a visitor takes back is not used for as long as others flood the site. Mutation: leave recordRefusals out of the ceiling.
test.each([
  ["one event", (event: object) => event],
  ["a batch, beside an event that cannot be read", (event: object) => ({ events: [event, { u: 1 }] })],
])("a flood keeps no refusal waiting that comes with %s, which itself is turned away", async (_name, sent) => {
  const site = await app.newSite();
  stopClock();
  await app.sync(site, phoneCall(site, { meta: { fp: "ayse", gclid: "her-click", intent_stamp: `stamp-${site.siteId}` } }));
  await drainEvents();
  await flood(site, 15);
  await app.sync(site, batchOf(site, 99));
  const event = pageView(site, { consent_scopes: ["analytics"], meta: { fp: "ayse" } });
  expect((await app.sync(site, sent(event))).status).toBe(429);
  const [choice] = await app.db.sql`select scopes from public.consent_choices where site_id = ${site.siteUuid} and visitor_id = 'ayse'`;
  expect(choice?.scopes).toEqual(["analytics"]);
  const [call] = await app.db.sql`select gclid, marketing_consent from public.calls where site_id = ${site.siteUuid}`;
  expect(call).toEqual({ gclid: null, marketing_consent: false });
});

// Guarantee: above its ceiling a site costs the database no more than below it. Mutation: drop the limit of refusals above the ceiling.
test("a flood of invented visitors who refuse, from one address, is not written down without end", async () => {
  const site = await app.newSite();
  stopClock();
  await flood(site, 15);
  await app.sync(site, batchOf(site, 99));
  const refusing = () => Array.from({ length: 99 }, () => pageView(site, { consent_scopes: [], meta: { fp: randomUUID() } }));
  const from = { "x-forwarded-for": randomUUID() };
  for (let batch = 0; batch < 8; batch++) expect((await app.sync(site, { events: refusing() }, from)).status).toBe(429);
  const [choices] = await app.db.sql`select count(*)::int as n from public.consent_choices where site_id = ${site.siteUuid}`;
  expect(choices?.n).toBeGreaterThan(0);
  expect(choices?.n).toBeLessThanOrEqual(300);
});

test("a flood of forged events keeps no signed call out", async () => {
  const site = await app.newSite();
  stopClock();
  await flood(site, 15);
  expect((await app.call(site, { event_id: randomUUID() })).status).toBe(200);
});

// Guarantee: three days of a flood do not raise what is usual. Mutation: follow the busiest day.
test("three flooded days do not raise the ceiling of a site with a history", async () => {
  const site = await app.newSite();
  for (let daysAgo = 20; daysAgo > 3; daysAgo--) await pastDay(site, daysAgo, 300);
  for (let daysAgo = 3; daysAgo > 0; daysAgo--) await pastDay(site, daysAgo, 9000);
  expect(await read(site, app.owner, june)).toMatchObject({ usualMinute: 300, usualDay: 300, minuteMax: 3000, dayMax: 20_000 });
});

// Guarantee: a flood of a young site does not raise its own ceiling from day to day. Mutation: take the busiest day.
test("a new site follows the middle of its days so far, and a flood does not raise it", async () => {
  const site = await app.newSite();
  await pastDay(site, 3, 5000);
  await pastDay(site, 2, 5200);
  await pastDay(site, 1, 20_000);
  expect(await read(site, app.owner, june)).toMatchObject({ usualDay: 5200, minuteMax: 52_000, dayMax: 26_000 });
});

test("only an owner sets a ceiling, within bounds, and gives it back to the history", async () => {
  const site = await app.newSite();
  const stranger = await createPerson(app.db.sql, "stranger@ingest.test");
  const set = (person: { id: string }, minute: number | null, day: number | null) =>
    callAs(app.db.sql, person, (tx) => tx`select public.set_site_ceilings(${site.siteId}, ${minute}, ${day})`);
  await expect(set(stranger, 100, 1000)).rejects.toMatchObject({ message: "NOT_FOUND" });
  await expect(set(app.owner, 59, 1000)).rejects.toMatchObject({ message: "VALIDATION_FAILED" });
  await set(app.owner, 100, null);
  expect(await read(site)).toMatchObject({ minuteMax: 100, minuteByHand: 100, dayMax: 20_000, dayByHand: null });
  await set(app.owner, null, null);
  expect(await read(site)).toMatchObject({ minuteMax: 1000, minuteByHand: null });
});

test("the cron writes each site's yesterday once", async () => {
  await app.newSite();
  const run = async () => (await send(noteBusyDays, { method: "GET", headers: { authorization: `Bearer ${app.env.CRON_SECRET}` } })).json();
  expect((await run()).noted).toBeGreaterThan(0);
  expect((await run()).noted).toBe(0);
});
