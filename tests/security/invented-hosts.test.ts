import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { type IngestApp, type IngestSite, pageView, startIngestApp } from "#tests/support/ingest-app.ts";
import { stopClock } from "#tests/support/stop-clock.ts";

/** Whoever knows a public id can send any Origin. The owner is shown the host of a real page all the same. */

let app: IngestApp;
let site: IngestSite;
let domain = "";
let now = new Date();
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());
beforeEach(async () => {
  site = await app.newSite();
  domain = new URL(site.origin).hostname;
  now = new Date();
});

const later = (hours: number) => {
  now = new Date(now.getTime() + hours * 3_600_000);
};
/** A page of the host is refused to somebody of a range; each sighting a moment after the one before. */
async function seen(host: string, range: string): Promise<void> {
  now = new Date(now.getTime() + 1);
  await app.db.sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${now.toISOString()}, true)`;
    await tx`select public.note_refused_origin(${site.siteUuid}, ${host}, ${range})`;
  });
}
const range = (number: number) => `10.${Math.floor(number / 250)}.${number % 250}.0/24`;
const invented = (number: number) => `x${number}.${domain}`;
const shown = async () => {
  const setup = await callAs<{ refusedHost: { host: string } | null }>(
    app.db.sql,
    app.owner,
    (tx) => tx`select public.site_setup(${site.siteId})`,
    now,
  );
  return setup.refusedHost?.host ?? null;
};
const kept = async () =>
  (await app.db.sql`select distinct host from private.refused_origins where site_id = ${site.siteUuid} order by 1`).map(({ host }) => host);

// Guarantee: a list filled before the real page was opened shows it as soon as a second visitor comes. Mutation: rank by first_at alone.
test("five invented subdomains, sent first, do not hide the page of a second visitor", async () => {
  for (let number = 0; number < 5; number++) await seen(invented(number), range(1));
  later(1);
  await seen(`shop.${domain}`, range(2));
  expect(await shown(), "one against one: the first").toBe(invented(0));
  await seen(`shop.${domain}`, range(3));
  expect(await shown()).toBe(`shop.${domain}`);
});

// Mutation: leave out the five places of a range.
test("200 invented hosts of one address have five places, and take none of another's", async () => {
  await seen(`shop.${domain}`, range(2));
  for (let number = 0; number < 200; number++) await seen(invented(number), range(1));
  expect(await kept()).toHaveLength(6);
  expect(await shown()).toBe(`shop.${domain}`);
});

test("invented subdomains do not hide another domain that visitors of three ranges came from", async () => {
  for (const number of [1, 2]) for (let host = 0; host < 5; host++) await seen(invented(host), range(number));
  for (const number of [3, 4, 5]) await seen("new-shop.example", range(number));
  expect(await shown()).toBe("new-shop.example");
});

// Mutation: age everything after a week.
test("what one address alone saw is gone after a day, and what visitors saw stays a week", async () => {
  for (let number = 0; number < 5; number++) await seen(invented(number), range(1));
  for (const number of [2, 3]) await seen("new-shop.example", range(number));
  later(25);
  expect(await shown()).toBe("new-shop.example");
  await seen(`shop.${domain}`, range(4));
  expect(await kept()).toEqual(["new-shop.example", `shop.${domain}`]);
  later(24 * 6.5);
  expect(await shown()).toBeNull();
});

// Mutation: a full site drops the last in rank, subdomains or not.
test("300 addresses with a host each fill 200 lines, and a page of two visitors stays", async () => {
  for (const number of [2000, 2001]) await seen("new-shop.example", range(number));
  for (let number = 0; number < 300; number++) await seen(invented(number), range(number));
  expect((await kept()).length).toBeLessThanOrEqual(200);
  expect(await kept()).toContain("new-shop.example");
});

test("a host that many saw has eight lines", async () => {
  for (let number = 0; number < 50; number++) await seen("new-shop.example", range(number));
  const lines = await app.db.sql`select from private.refused_origins where site_id = ${site.siteUuid}`;
  expect(lines).toHaveLength(8);
});

// Guarantee: the quiet time of one address is not everybody's. Mutation: one quiet time for the site.
test("an address that sends invented hosts all the time keeps no other's page from being noted", async () => {
  const clock = stopClock();
  for (let sent = 0; sent < 5; sent++)
    await app.sync(site, pageView(site), { origin: `https://${invented(sent)}`, "x-forwarded-for": "203.0.113.9" });
  clock.step(1_100); // a site is noted once a second
  await app.sync(site, pageView(site), { origin: `https://${invented(6)}`, "x-forwarded-for": "203.0.113.10" });
  await app.sync(site, pageView(site), { origin: `https://shop.${domain}`, "x-forwarded-for": "198.51.100.7" });
  expect(await kept()).toEqual([`shop.${domain}`, invented(0)]);
});
