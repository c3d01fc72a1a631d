import { afterAll, beforeAll, expect, test } from "vitest";
import type { SiteSetup } from "#lib/tenancy/site-setup.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import { type IngestApp, type IngestSite, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterAll(() => app.stop());

const asOwner = <T>(name: string, siteId: string, value?: string | boolean) =>
  callAs<T>(app.db.sql, app.owner, (tx) =>
    value === undefined ? tx`select ${tx(`public.${name}`)}(${siteId})` : tx`select ${tx(`public.${name}`)}(${siteId}, ${value})`,
  );
const setupOf = ({ siteId }: IngestSite) => asOwner<SiteSetup>("site_setup", siteId);
const stepOf = async (site: IngestSite, name: string) => (await setupOf(site)).steps.find(({ step }) => step === name);
const openSteps = async (site: IngestSite) => (await setupOf(site)).steps.filter(({ at }) => at === null).map(({ step }) => step);
const setPrivacy = ({ siteId }: IngestSite, mode: string) =>
  callAs(app.db.sql, app.owner, (tx) => tx`select public.set_site_privacy(${siteId}, ${mode}, false)`);

// Guarantee: a step is ticked by what was seen and by nothing else, and stays ticked when that is gone.
// Mutation: without write_tick in site_setup the last expectation fails.
test("the first visit ticks the snippet with its host alone, the first click id the clicks, and both stay", async () => {
  const site = await app.newSite();
  expect(await openSteps(site)).toEqual(["snippet", "clicks", "calls", "values", "actions", "delivery", "test", "delivered"]);
  await app.sync(site, pageView(site, { u: `${site.origin}/contact?name=Elif#x` }));
  await app.recover();
  // A tick stays, and an address can tell who opened it: nothing would erase it. Mutation: keep the path.
  expect(await stepOf(site, "snippet")).toMatchObject({ at: expect.any(String), facts: { page: new URL(site.origin).host } });
  expect((await stepOf(site, "clicks"))?.at).toBeNull();
  await app.sync(site, pageView(site, { meta: { fp: "from-an-ad", gclid: "CLICK-1", cts: Date.now() } }));
  await app.recover();
  expect(await stepOf(site, "clicks")).toMatchObject({ at: expect.any(String), facts: { kind: "gclid" } });
  await app.db.sql`update public.sessions set gclid = null, clicked_at = null, landing_url = null where site_id = ${site.siteUuid}`;
  expect(await openSteps(site)).toEqual(["calls", "values", "actions", "delivery", "test", "delivered"]);
});

// Guarantee: an owner reads how much "ask first" drops before it drops it. Mutation: count events of visitors who agreed, too.
test("what asking first would cost is what came without consent in the last day", async () => {
  const site = await app.newSite();
  const cost = () => asOwner("consent_cost", site.siteId);
  expect(await cost()).toEqual({ events: 0 });
  await app.sync(site, { events: [pageView(site), pageView(site), pageView(site, { consent_scopes: ["analytics"] })] });
  await app.call(site, { event_id: "c-1" });
  await app.recover();
  expect(await cost()).toEqual({ events: 2 });
});

test("asking first opens its step again until a visit with consent arrives", async () => {
  const site = await app.newSite();
  expect(await stepOf(site, "consent")).toMatchObject({ at: expect.any(String), facts: { isOff: true } });
  await app.sync(site, pageView(site, { consent_scopes: ["analytics"], meta: { fp: "before" } }));
  await app.recover();
  await setPrivacy(site, "required");
  expect((await stepOf(site, "consent"))?.at, "an answer from before does not count").toBeNull();
  await app.sync(site, pageView(site, { consent_scopes: ["analytics", "marketing"], meta: { fp: "after" } }));
  await app.recover();
  expect((await stepOf(site, "consent"))?.at).toEqual(expect.any(String));
});

// Guarantee: the owner sees which subdomain is refused and adds it with one press; a flood fills neither the table nor the screen.
test("the first refused subdomain is shown until it is added", async () => {
  const site = await app.newSite();
  const domain = new URL(site.origin).hostname;
  const from = async (host: string) => {
    await app.db.sql`select public.note_refused_origin(${site.siteUuid}, ${host}, '203.0.113.0/24')`;
  };
  expect((await app.sync(site, pageView(site), { origin: `https://shop.${domain}` })).status).toBe(403);
  expect((await setupOf(site)).refusedHost).toMatchObject({ host: `shop.${domain}`, isSubdomain: true });
  for (let index = 0; index < 20; index += 1) await from(`evil-${index}.example`);
  expect((await setupOf(site)).refusedHost?.host).toBe(`shop.${domain}`);
  await asOwner("add_site_domain", site.siteId, `shop.${domain}`);
  await asOwner("add_site_domain", site.siteId, `shop.${domain}`); // twice is once
  expect((await setupOf(site)).refusedHost).toMatchObject({ host: "evil-15.example", isSubdomain: false });
  const [row] = await app.db.sql`select domains from public.sites where id = ${site.siteUuid}`;
  expect(row?.domains).toEqual([domain, `shop.${domain}`]);
  await expect(asOwner("add_site_domain", site.siteId, "not a host")).rejects.toMatchObject({ message: "INVALID_DOMAIN" });
});

// Guarantee: whoever sets up a telephone system reads why a signature is wrong; nothing of the call itself is kept.
test("the log of calls says what was wrong with each, and a right one ticks the step", async () => {
  const site = await app.newSite();
  const old = String(Math.floor(Date.now() / 1000) - 4000);
  await app.call(site, { event_id: "1" }, { signature: "abc" });
  await app.call(site, { event_id: "1" }, { ts: "yesterday" });
  await app.call(site, { event_id: "1" }, { ts: old });
  await app.call(site, { event_id: "1" }, { secret: "another" });
  const results = async () => (await setupOf(site)).callReports.map(({ result }) => result);
  expect(await results()).toEqual(["wrong_signature", "old_time", "no_time", "no_signature"]);
  expect((await stepOf(site, "calls"))?.at).toBeNull();
  expect((await app.call(site, phoneCall(site))).status).toBe(200);
  expect((await results())[0]).toBe("signed");
  expect((await stepOf(site, "calls"))?.at).toEqual(expect.any(String));
  for (let index = 0; index < 60; index += 1)
    await app.db.sql`select public.note_call_report(${site.siteId}, ${index % 2 ? "old_time" : "no_time"})`;
  const [kept] = await app.db.sql`select count(*)::int as lines from private.call_reports where site_id = ${site.siteUuid}`;
  expect(kept?.lines).toBe(20);
});

// Guarantee: a stranger who sends wrong signatures cannot hide the right one. Mutation: note_call_report without write_tick.
test("a signed call ticks its step also when nobody looked before its line was pushed out", async () => {
  const site = await app.newSite();
  for (let index = -1; index < 60; index += 1)
    await app.db.sql`select public.note_call_report(${site.siteId}, ${index < 0 ? "signed" : index % 2 ? "old_time" : "no_time"})`;
  expect((await setupOf(site)).callReports.map(({ result }) => result)).not.toContain("signed");
  expect(await stepOf(site, "calls")).toMatchObject({ at: expect.any(String), facts: {} });
});

test("a site without a telephone system says so, and can change its mind", async () => {
  const site = await app.newSite();
  await asOwner("skip_calls", site.siteId, true);
  expect(await stepOf(site, "calls")).toMatchObject({ at: expect.any(String), facts: { isSkipped: true } });
  await asOwner("skip_calls", site.siteId, false);
  expect((await stepOf(site, "calls"))?.at).toBeNull();
});

// Guarantee: no tick stands for a conversion action that nobody has seen. Mutation: leave the ticks or the last answer when a name changes.
test("another conversion name opens the actions and the test again; the same names written out do not", async () => {
  const site = await app.newSite();
  const team = { siteId: site.siteId, owner: app.owner };
  const passes = async () => {
    const [test] = await app.db.sql`select private.test_mark(s) as mark from public.sites s where s.id = ${site.siteUuid}`;
    const orderId = `test_${crypto.randomUUID().slice(0, 24)}${test?.mark}`;
    await app.db.sql`select public.record_test(${site.siteUuid}, ${app.db.sql.json({ way: "script", orderId, hasAction: true })})`;
  };
  const open = ["snippet", "clicks", "calls", "values", "delivery", "delivered"];
  await passes();
  const { conversionNames } = await asOwner<{ conversionNames: Record<string, string> }>("site_delivery", site.siteId);
  await deliverySettings(app.db.sql, team, { conversionNames });
  await deliverySettings(app.db.sql, team, { sendDelayMinutes: 5 });
  expect(await openSteps(site)).toEqual(open);
  await deliverySettings(app.db.sql, team, { conversionNames: { seal: "Sealed" } });
  expect(await openSteps(site)).toEqual(["snippet", "clicks", "calls", "values", "actions", "delivery", "test", "delivered"]);
  expect((await setupOf(site)).lastTest).toBeNull();
  await passes();
  expect(await openSteps(site)).toEqual(open);
  expect((await stepOf(site, "actions"))?.facts).toEqual({ name: "Sealed" });
});

// Guarantee: the desk's first button is an amount that the owner chose. Mutation: without the chosen amounts in amount_presets it is the expected one.
test("the owner's amounts are what the desk offers before the first sale; another currency forgets them", async () => {
  const site = await app.newSite();
  const team = { siteId: site.siteId, owner: app.owner };
  await deliverySettings(app.db.sql, team, { amountPresets: [400_000, 100_000, 200_000] });
  expect((await stepOf(site, "values"))?.at).toEqual(expect.any(String));
  expect(await asOwner("amount_presets", site.siteId)).toEqual([
    { amountCents: 100_000, label: null, isUsual: false, isExpected: false },
    { amountCents: 200_000, label: null, isUsual: true, isExpected: false },
    { amountCents: 400_000, label: null, isUsual: false, isExpected: false },
  ]);
  for (const amountPresets of [[1, 1], [0], [1.5], [1, 2, 3, 4, 5], "100"])
    await expect(deliverySettings(app.db.sql, team, { amountPresets })).rejects.toMatchObject({ message: "VALIDATION_FAILED" });
  await callAs(
    app.db.sql,
    app.owner,
    (tx) => tx`select public.update_site(${site.siteId}, 'Shop', '{shop.test}', 'EUR', 'Europe/Istanbul', 'tr', 5000)`,
  );
  expect(await asOwner("amount_presets", site.siteId)).toMatchObject([{ amountCents: 5000, isExpected: true }]);
});
