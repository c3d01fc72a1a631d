import { createHash } from "node:crypto";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { drainEvents } from "#lib/ingest/drain.ts";
import { service } from "#tests/fixtures/service.ts";
import { dropsOf, figuresOf, type IngestApp, type IngestSite, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";
import { callOf, handedOut, saleOf, sealOnlyCall, sendingSite } from "#tests/support/lead-journey.ts";
import { stopClock } from "#tests/support/stop-clock.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());

const fromTracker = (site: IngestSite, change: Record<string, unknown> = {}) =>
  app.sync(site, phoneCall(site, { u: `${site.origin}/pipes`, ...change, meta: { fp: "ayse", gclid: "click", intent_stamp: "stamp" } }));
const fromSystem = (site: IngestSite, change: Record<string, unknown> = {}) =>
  app.call(site, { intent_stamp: "stamp", phone_number: "+905551112233", ...change });
const whole = { gclid: "click", phone: "+905551112233", visitor_id: "ayse", reported_by: "tracker", marketing_consent: true };

describe("two reports of one call", () => {
  // Guarantee: the click is known from the tracker and the caller from the telephone system, in whichever order they tell and
  // whenever the worker comes. One call, one unit. Mutation: answer the second report without capturing it.
  test.each([
    ["tracker, system", false],
    ["system, tracker", false],
    ["tracker, system", true],
    ["system, tracker", true],
  ])("%s, the worker between the two: %s", async (order, isBetween) => {
    const site = await sendingSite(app);
    const reports = order === "tracker, system" ? [fromTracker, fromSystem] : [fromSystem, fromTracker];
    for (const report of reports) {
      const response = await report(site);
      expect(response.status).toBe(200);
      if (isBetween) await drainEvents();
    }
    await drainEvents();
    const call = await callOf(app, site);
    expect(call).toMatchObject({ ...whole, page_url: `${site.origin}/pipes` });
    expect(await figuresOf(app.db, site)).toEqual({ billed: 1, captured: 1, stored: 1, calls: 1 });
    const sessions = await app.db.sql`select visitor_id from public.sessions where site_id = ${site.siteUuid}`;
    expect([...sessions]).toEqual([{ visitor_id: "ayse" }]); // no visit that stood in for the real one is left
    const { saleId } = await sealOnlyCall(app, site);
    expect(await saleOf(app, saleId)).toMatchObject({ delivery_block: null, gclid: "click" });
    expect(await handedOut(app, site)).toMatchObject([{ gclid: "click" }]);
  });

  // Guarantee: the order in which the worker stores them changes nothing. Mutation: let the last one stored win in merge_call.
  test("stored the other way round, they make the same call", async () => {
    const site = await sendingSite(app);
    await fromTracker(site);
    await fromSystem(site);
    await app.db.sql`update public.ingest_fallback_buffer set created_at = created_at - interval '1 second'
      where site_id = ${site.siteUuid} and is_enrichment`;
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject(whole);
  });

  // Guarantee: a sale that was sealed before the tracker's report came is told to Google after all.
  test("the click that comes after the seal puts the sale on the queue", async () => {
    const site = await sendingSite(app);
    await fromSystem(site);
    const { saleId } = await sealOnlyCall(app, site);
    expect(await saleOf(app, saleId)).toMatchObject({ delivery_block: "NO_CLICK_ID", rows: null });
    await fromTracker(site);
    await drainEvents();
    expect(await saleOf(app, saleId)).toMatchObject({ delivery_block: null, gclid: "click", rows: [["QUEUED", null]] });
    const signals = await app.db.sql`select signal_type from public.marketing_signals where site_id = ${site.siteUuid}`;
    expect([...signals]).toEqual([{ signal_type: "INTENT_CAPTURED" }]);
  });

  // Guarantee: a telephone system cannot know of a refusal; the tracker's later report of it takes back what was kept.
  test("a refusal that the tracker tells of second takes the number, the click and the queued sale with it", async () => {
    const site = await sendingSite(app);
    await fromSystem(site, { gclid: "click" });
    const { saleId } = await sealOnlyCall(app, site);
    expect(await saleOf(app, saleId)).toMatchObject({ rows: [["QUEUED", null]] });
    await fromTracker(site, { consent_scopes: ["analytics"] });
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ gclid: null, phone: null, marketing_consent: false });
    expect(await saleOf(app, saleId)).toMatchObject({ delivery_block: "NO_CONSENT", gclid: null, rows: [["FAILED", "NO_CONSENT"]] });
  });

  test("a click that only the telephone system knows is used", async () => {
    const site = await sendingSite(app);
    await app.sync(site, phoneCall(site, { meta: { fp: "ayse", intent_stamp: "stamp" } }));
    await fromSystem(site, { gclid: "from-the-system" });
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ gclid: "from-the-system", visitor_id: "ayse" });
  });

  // Guarantee: where consent is required, the number is kept once the tracker says that its visitor agreed, and only then.
  // Mutation: forget what a telephone system told before the tracker.
  test.each([
    ["agreed", ["analytics", "marketing"], { phone: "+905551112233", gclid: "click", marketing_consent: true }],
    ["refused", ["analytics"], { phone: null, gclid: null, marketing_consent: false }],
  ])("on a site that requires consent, system first, then a visitor who %s", async (_name, consent_scopes, expected) => {
    for (const isBetween of [false, true]) {
      const site = await sendingSite(app, { consentMode: "required" });
      await fromSystem(site);
      if (isBetween) await drainEvents();
      await fromTracker(site, { consent_scopes });
      await drainEvents();
      expect(await callOf(app, site)).toMatchObject(expected);
      const held = await app.db.sql`select report from private.held_reports where site_id = ${site.siteUuid}`;
      expect([...held]).toEqual([]);
    }
  });

  test("a number that nobody agreed to is forgotten within the hour", async () => {
    const site = await sendingSite(app, { consentMode: "required" });
    await fromSystem(site);
    await drainEvents();
    await service(app.db.sql, "purge_stored_events", {}, new Date(Date.now() + 2 * 3_600_000));
    const held = await app.db.sql`select report from private.held_reports where site_id = ${site.siteUuid}`;
    expect([...held]).toEqual([]);
  });

  // Guarantee: a system that knows the number only when it hangs up is heard, however late the worker is.
  test("a second message of the telephone system brings the number before the call is stored", async () => {
    const site = await sendingSite(app);
    await app.call(site, { event_id: "c" });
    await app.call(site, { event_id: "c", phone_number: "+905551112233" });
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ phone: "+905551112233" });
  });

  // Guarantee: a tracker that names no visitor but its event is stored, too. Mutation: remove the visit that the call points to.
  test("a tracker's event whose only id is the stamp", async () => {
    const site = await sendingSite(app);
    await fromSystem(site);
    await app.sync(site, phoneCall(site, { eid: "stamp", meta: { gclid: "click" } }));
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ gclid: "click", phone: "+905551112233", reported_by: "tracker" });
  });

  // Guarantee: repeating a report stores nothing and bills nothing, so nobody fills the database with one stamp.
  test("each reporter counts once; the rest are duplicates", async () => {
    const site = await sendingSite(app);
    for (let round = 0; round < 3; round++) {
      await fromTracker(site, { eid: "same" });
      await fromSystem(site);
    }
    const [rows] = await app.db.sql`select count(*)::int as n, count(*) filter (where is_enrichment)::int as second
      from public.ingest_fallback_buffer where site_id = ${site.siteUuid}`;
    expect(rows).toEqual({ n: 2, second: 1 });
    expect(await dropsOf(app.db, site)).toEqual({ duplicate: 4 });
  });

  // Guarantee: a full plan refuses new events, and still learns who called.
  test("the second report is taken when the month is full", async () => {
    const site = await app.newSite({ plan: { limit: 1, enforcement: "hard" } });
    await fromTracker(site);
    expect((await fromSystem(site)).status).toBe(200);
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject(whole);
    const [usage] = await app.db.sql`select event_count::int as used from public.site_usage_monthly where site_id = ${site.siteUuid}`;
    expect(usage?.used).toBe(1);
  });

  // Guarantee: the same at the same moment. Mutation: look for the other reporter before the insert instead of after it.
  test("a report that waits for the other's commit is the second one, not a lost one", async () => {
    const site = await sendingSite(app);
    const first = { k: createHash("sha256").update("first").digest("hex"), e: "stamp", n: "conversion/phone_call", r: 2 };
    const payload = {
      visitor: "stamp",
      category: "conversion",
      action: "phone_call",
      intentStamp: "stamp",
      reporter: "system",
      phone: "+905551112233",
    };
    const rest = { label: null, value: null, url: "", referrer: null, device: null, country: null, city: null, utm: {}, gclid: null };
    const event = { ...first, p: { ...payload, ...rest, wbraid: null, gbraid: null, marketingConsent: null, marketingDefault: true } };
    const response = await whileOpen(
      app.db.sql,
      (tx) => tx`select public.admit_events(${site.siteUuid}, ${tx.json([event])})`,
      () => fromTracker(site),
    );
    expect((await response.json()).results).toEqual(["enriched"]);
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject(whole);
    expect((await figuresOf(app.db, site)).billed).toBe(1);
  });

  // Guarantee: whatever the order and wherever the worker falls between, the call, its unit and its click are the same.
  test("any order of reports, repeats and workers ends in the same call", async () => {
    const step = fc.constantFrom("tracker", "system", "worker");
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 5 }), async (steps) => {
        const site = await sendingSite(app);
        for (const next of [...steps, "tracker", "system"]) {
          if (next === "worker") await drainEvents();
          else if (next === "tracker") await fromTracker(site);
          else await fromSystem(site);
        }
        await drainEvents();
        expect(await callOf(app, site)).toMatchObject(whole);
        expect(await figuresOf(app.db, site)).toMatchObject({ billed: 1, stored: 1, calls: 1 });
      }),
      { numRuns: 20, seed: 11 },
    );
  });
});

describe("a telephone system that sends no ids", () => {
  const body = { phone_number: "+905551112233", url: "https://a.test/" };
  const callsAt = async (site: IngestSite, seconds: number[], sent: object = body) => {
    for (const ts of seconds) await app.call(site, sent, { ts: String(ts) });
    await drainEvents();
    return figuresOf(app.db, site);
  };
  const base = Math.floor(Date.now() / 300_000) * 300;

  // Guarantee: a retry that is signed anew is the same call. Mutation: make the stamp of the signature.
  test("the same body signed again, a second or some minutes later, is one call and one unit", async () => {
    stopClock((base + 250) * 1000);
    expect(await callsAt(await app.newSite(), [base + 100, base + 101, base + 250])).toMatchObject({ billed: 1, calls: 1 });
  });

  test("also across the end of a time window", async () => {
    stopClock((base + 10) * 1000);
    expect(await callsAt(await app.newSite(), [base - 1, base + 1])).toMatchObject({ billed: 1, calls: 1 });
  });

  test("a body that names nobody counts as sent again for a minute only", async () => {
    stopClock((base + 200) * 1000);
    const site = await app.newSite();
    expect(await callsAt(site, [base, base + 1], { action: "phone_call" })).toMatchObject({ billed: 1 });
    expect(await callsAt(site, [base + 190], { action: "phone_call" })).toMatchObject({ billed: 2, calls: 2 });
  });

  test("another caller is another call", async () => {
    const site = await app.newSite();
    const ts = Math.floor(Date.now() / 1000);
    await callsAt(site, [ts]);
    expect(await callsAt(site, [ts], { ...body, phone_number: "+905551112234" })).toMatchObject({ billed: 2, calls: 2 });
  });
});
