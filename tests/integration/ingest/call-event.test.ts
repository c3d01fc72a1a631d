import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { drainEvents } from "#lib/ingest/drain.ts";
import type { SiteId } from "#lib/site.ts";
import { callersOfNumber } from "#tests/fixtures/callers.ts";
import { makeCallSecret } from "#tests/fixtures/site.ts";
import { figuresOf, type IngestApp, type IngestSite, pageView, phoneCall, sign, startIngestApp } from "#tests/support/ingest-app.ts";
import { stopClock } from "#tests/support/stop-clock.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());

const nothing = { billed: 0, captured: 0, stored: 0, calls: 0 };
const nowSeconds = () => Math.floor(Date.now() / 1000);
const callsOf = (site: IngestSite) =>
  app.db.sql`select intent_stamp, channel, phone, gclid, marketing_consent from public.calls where site_id = ${site.siteUuid}`.then(
    (rows) => [...rows],
  );

test("a signed call is queued, billed once and stored as a call", async () => {
  const site = await app.newSite();
  const response = await app.call(site, {
    event_id: "pbx-1",
    phone_number: "+905551112233",
    gclid: "click",
    url: `${site.origin}/contact`,
  });
  expect([response.status, await response.json()]).toEqual([200, { ok: true, status: "queued" }]);
  await drainEvents();
  expect(await figuresOf(app.db, site)).toEqual({ billed: 1, captured: 1, stored: 1, calls: 1 });
  expect(await callsOf(site)).toEqual([
    { intent_stamp: expect.stringMatching(/^system\//), channel: "phone", phone: "+905551112233", gclid: "click", marketing_consent: true },
  ]);
});

// Guarantee: a call is billed once, whoever reports it, and who called is known from the one who can know. The tracker only sees which
// number was pressed: the site's own.
test("a call that the tracker reported first gets the caller's number, and no second unit", async () => {
  const site = await app.newSite();
  await app.sync(site, phoneCall(site, { meta: { fp: "both", gclid: "click", intent_stamp: "both" } }));
  await drainEvents();
  const response = await app.call(site, { intent_stamp: "both", phone_number: "0532 999 88 77" });
  expect(await response.json()).toEqual({ ok: true, status: "queued" });
  await drainEvents();
  const [row] = await app.db.sql`select phone, caller_hash as hash from public.calls where site_id = ${site.siteUuid}`;
  expect({ ...row }).toEqual({ phone: "0532 999 88 77", hash: callersOfNumber("+905329998877")[0]?.hash });
  expect(await figuresOf(app.db, site)).toMatchObject({ billed: 1, calls: 1 });
});

describe("the signature", () => {
  // Guarantee: without the site's secret nobody makes a call, and nothing of a call can be changed on its way.
  test.each<[string, (site: IngestSite) => Parameters<IngestApp["call"]>[2]]>([
    ["another secret", () => ({ secret: "not-the-secret" })],
    ["a body altered by one space", () => ({ sentBody: '{"event_id": "a" }' })],
    ["a time 301 seconds ago", () => ({ ts: String(nowSeconds() - 301) })],
    ["a time 301 seconds ahead", () => ({ ts: String(nowSeconds() + 302) })],
    ["no time", () => ({ ts: "" })],
    ["a time that is no number", () => ({ ts: "1e9abcdefg" })],
    ["no signature", () => ({ signature: "" })],
    ["a signature of the wrong length", () => ({ signature: "ab" })],
    ["the signature of another time", (site) => ({ signature: sign(site.callSecret, String(nowSeconds() - 10), '{"event_id": "a"}') })],
  ])("%s is 401, and nothing is stored", async (_name, signing) => {
    const site = await app.newSite();
    stopClock();
    const response = await app.call(site, '{"event_id": "a"}', signing(site));
    expect([response.status, (await response.json()).code]).toEqual([401, "INVALID_SIGNATURE"]);
    expect(await figuresOf(app.db, site)).toEqual(nothing);
  });

  test.each([-300, 300])("a time %i seconds away is still taken", async (seconds) => {
    const site = await app.newSite();
    stopClock(nowSeconds() * 1000);
    expect((await app.call(site, { event_id: "a" }, { ts: String(nowSeconds() + seconds) })).status).toBe(200);
  });

  test("the secret of one site does not sign for another, and an unknown site answers the same", async () => {
    const [one, other] = [await app.newSite(), await app.newSite()];
    expect((await app.call({ ...other, callSecret: one.callSecret }, { event_id: "a" })).status).toBe(401);
    expect((await app.call({ ...one, siteId: "0".repeat(32) as SiteId }, { event_id: "a" })).status).toBe(401);
  });

  // Guarantee: changing the secret interrupts nobody who has not been told yet.
  test("after a rotation both secrets sign; after two only the newest two do", async () => {
    const site = await app.newSite();
    const rotate = () => makeCallSecret(app.db.sql, { ...site, owner: app.owner });
    const statusWith = async (secret: string) => (await app.call(site, { event_id: secret.slice(0, 8) }, { secret })).status;
    const second = await rotate();
    expect([await statusWith(site.callSecret), await statusWith(second)]).toEqual([200, 200]);
    const third = await rotate();
    expect([await statusWith(site.callSecret), await statusWith(second), await statusWith(third)]).toEqual([401, 200, 200]);
  });
});

describe("once", () => {
  // Guarantee: a replayed request is one call and one unit. Mutation: make the stamp of the signature as it was spelled.
  test.each([
    ["with an event id", { event_id: "a" }],
    ["without any id", { phone_number: "+905551112233" }],
  ])("a replayed request %s is a duplicate, in any spelling of its signature", async (_name, body) => {
    const site = await app.newSite();
    const ts = String(nowSeconds());
    const signature = sign(site.callSecret, ts, JSON.stringify(body));
    await app.call(site, body, { ts, signature });
    for (const spelling of [signature, signature.toUpperCase()]) {
      const replay = await app.call(site, body, { ts, signature: spelling });
      expect([replay.status, replay.headers.get("x-opsmantik-dedup"), await replay.json()]).toEqual([
        200,
        "1",
        { ok: true, status: "duplicate" },
      ]);
    }
    expect((await figuresOf(app.db, site)).billed).toBe(1);
  });

  // Guarantee: one click is one call and one billable unit, whoever reports it and in whichever order.
  test.each(["tracker first", "telephone system first"])("the same click from tracker and telephone system is one: %s", async (order) => {
    const site = await app.newSite();
    const fromTracker = () => app.sync(site, phoneCall(site, { meta: { fp: "ayse", gclid: "click", intent_stamp: "stamp-1" } }));
    const fromPbx = () => app.call(site, { intent_stamp: "stamp-1", fingerprint: "ayse", phone_number: "+905551112233" });
    const reports = order === "tracker first" ? [fromTracker, fromPbx] : [fromPbx, fromTracker];
    const statuses = [];
    for (const report of reports) statuses.push((await (await report()).json()).status);
    expect(statuses).toEqual(["queued", order === "tracker first" ? "queued" : "duplicate"]);
    await drainEvents();
    expect(await figuresOf(app.db, site)).toEqual({ billed: 1, captured: 1, stored: 1, calls: 1 });
  });

  test("an event beside the call that carries the same stamp is an event of its own", async () => {
    const site = await app.newSite();
    const meta = { fp: "ayse", intent_stamp: "stamp-1" };
    const response = await app.sync(site, { events: [phoneCall(site, { meta }), pageView(site, { meta })] });
    expect((await response.json()).results).toEqual(["accepted", "accepted"]);
  });

  test("two calls of one visitor in one moment are two", async () => {
    const site = await app.newSite();
    for (const event_id of ["a", "b"]) await app.call(site, { event_id, fingerprint: "ayse" });
    expect((await figuresOf(app.db, site)).billed).toBe(2);
  });
});

describe("consent", () => {
  // Guarantee: a telephone system cannot give the consent that the visitor refused. Mutation: take its click id as it comes.
  test("the visitor's own choice holds: no click id and no number of a visitor without marketing consent", async () => {
    const site = await app.newSite();
    await app.sync(site, pageView(site, { consent_scopes: ["analytics"], meta: { fp: "ayse" } }));
    await drainEvents();
    await app.call(site, { event_id: "a", fingerprint: "ayse", gclid: "click", phone_number: "+905551112233" });
    await drainEvents();
    expect(await callsOf(site)).toMatchObject([{ gclid: null, phone: null, marketing_consent: false }]);
    const [session] = await app.db.sql`select gclid, clicked_at from public.sessions where site_id = ${site.siteUuid}`;
    expect(session).toEqual({ gclid: null, clicked_at: null });
  });

  test("the visitor's click is the call's, when the telephone system knows the visitor", async () => {
    const site = await app.newSite();
    await app.sync(site, pageView(site, { meta: { fp: "ayse", gclid: "click" } }));
    await app.call(site, { event_id: "a", fingerprint: "ayse" });
    await drainEvents();
    expect(await callsOf(site)).toMatchObject([{ gclid: "click", marketing_consent: true }]);
  });

  test("where consent is required and nobody gave it, the call counts but carries nothing for Google", async () => {
    const site = await app.newSite({ consentMode: "required" });
    await app.call(site, { event_id: "a", gclid: "click" });
    await drainEvents();
    expect(await callsOf(site)).toMatchObject([{ gclid: null, marketing_consent: false }]);
  });
});

describe("the body", () => {
  test.each([
    ["not JSON", "{", "MALFORMED_JSON"],
    ["an action that is no call", { action: "purchase" }, "VALIDATION_FAILED"],
    ["a stamp that is too long", { intent_stamp: "x".repeat(65) }, "VALIDATION_FAILED"],
    ["a NUL", { phone_number: "+90\u0000555" }, "VALIDATION_FAILED"],
    ["an address that is none", { url: "javascript:alert(1)" }, "VALIDATION_FAILED"],
  ])("%s is 400", async (_name, body, code) => {
    const site = await app.newSite();
    const response = await app.call(site, body);
    expect([response.status, (await response.json()).code]).toEqual([400, code]);
    expect(await figuresOf(app.db, site)).toEqual(nothing);
  });

  // Guarantee: a lead is not lost over a field that somebody's system sends empty or in addition.
  test("empty fields count as none, and unknown ones change nothing", async () => {
    const site = await app.newSite();
    const body = {
      event_id: "a",
      gclid: "",
      url: "",
      action: "",
      phone_number: " ",
      site_id: "another",
      value: 5,
      ua: "PBX",
      ads_context: {},
    };
    expect((await app.call(site, body)).status).toBe(200);
    await drainEvents();
    expect(await callsOf(site)).toMatchObject([{ channel: "phone", phone: null, gclid: null }]);
  });
});

test("a full plan answers 429 with the quota header and leaves no row", async () => {
  const site = await app.newSite({ plan: { limit: 1, enforcement: "hard" } });
  await app.call(site, { event_id: "a" });
  const response = await app.call(site, { event_id: "b" });
  expect([response.status, response.headers.get("x-opsmantik-quota-exceeded")]).toEqual([429, "1"]);
  expect((await figuresOf(app.db, site)).billed).toBe(1);
});
