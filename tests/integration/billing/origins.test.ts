import { afterAll, beforeAll, expect, test } from "vitest";
import { type UsageOrigins, usageOrigins } from "#lib/billing/billing-shapes.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { browser, type IngestApp, type IngestSite, pageView, startIngestApp } from "#tests/support/ingest-app.ts";

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/20100101 Firefox/144.0";
const today = () => new Date().toISOString().slice(0, 10);

let app: IngestApp;
let site: IngestSite;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterAll(() => app.stop());

const from = (address: string, agent = browser) => ({ "x-forwarded-for": address, "user-agent": agent });
const origins = async (): Promise<UsageOrigins> =>
  usageOrigins.parse(await callAs(app.db.sql, app.owner, (tx) => tx`select public.list_usage_origins(${site.siteId}, ${today()})`));

// Guarantee: the counts of a day add up to its billed units: each unit once, whoever stores it how often.
// Mutation: count before the claim is checked, or count second reports.
test("each billed event is counted once, under its range and browser; repeats and second reports are not", async () => {
  site = await app.newSite();
  const view = pageView(site);
  await app.sync(site, { events: [view, pageView(site)] }, from("203.0.113.7"));
  await app.sync(site, view, from("198.51.100.9"));
  await app.sync(site, pageView(site), from("203.0.113.200"));
  await app.sync(site, pageView(site), from("203.0.113.200", firefox));
  await app.sync(site, pageView(site), from("2001:db8:1:2::5"));
  await app.sync(site, pageView(site, { ec: "conversion", ea: "phone_call", eid: "click-1" }), from("192.0.2.1"));
  await app.call(site, { intent_stamp: "click-1", phone_number: "+905321112233" });
  await app.call(site, { event_id: "PBX-1", phone_number: "+905321112233" });
  expect(await origins()).toMatchObject({ units: 7, waiting: 7, origins: [] });
  await Promise.all([app.recover(), app.recover()]);
  await app.recover();
  const found = await origins();
  expect(found).toMatchObject({ units: 7, waiting: 0 });
  expect(found.origins).toEqual([
    { network: "203.0.113.0/24", browser: "chrome", units: 3 },
    { network: "", browser: "system", units: 1 },
    { network: "192.0.2.0/24", browser: "chrome", units: 1 },
    { network: "2001:db8:1::/48", browser: "chrome", units: 1 },
    { network: "203.0.113.0/24", browser: "firefox", units: 1 },
  ]);
});

// Guarantee: no whole address is in the database. Mutation: capture clientAddress() itself.
test("the address itself is stored nowhere, waiting or stored", async () => {
  site = await app.newSite();
  const address = "203.0.113.231";
  const everywhere = async () => {
    const tables = await app.db
      .sql`select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('public', 'private')`;
    const hits: string[] = [];
    for (const { name } of tables) {
      const found = await app.db.sql.unsafe(`select from ${name} t where t::text like '%${address}%' limit 1`);
      if (found.length > 0) hits.push(name);
    }
    return hits;
  };
  await app.sync(site, pageView(site), from(address));
  expect(await everywhere()).toEqual([]);
  await app.recover();
  expect(await everywhere()).toEqual([]);
});

// Guarantee: a flood from ever new ranges costs a day 2,000 lines and not more, and no unit is lost. Mutation: no full_days.
test("beyond 2,000 ranges a day new ones are counted as unknown, known ones as before", async () => {
  site = await app.newSite();
  await app.sync(site, pageView(site), from("203.0.113.7"));
  await app.recover();
  await app.db.sql`insert into private.usage_origins (site_id, day, network, browser, units)
    select ${site.siteUuid}, ${today()}::date, '10.' || n / 256 || '.' || n % 256 || '.0/24', 'chrome', 1 from generate_series(1, 1999) n`;
  await app.sync(site, pageView(site), from("198.51.100.7"));
  await app.sync(site, pageView(site), from("198.51.101.7"));
  await app.sync(site, pageView(site), from("203.0.113.9"));
  await app.recover();
  const found = (await origins()).origins.filter(({ network }) => !network.startsWith("10."));
  expect(found).toEqual([
    { network: "", browser: "chrome", units: 2 },
    { network: "203.0.113.0/24", browser: "chrome", units: 2 },
  ]);
});
