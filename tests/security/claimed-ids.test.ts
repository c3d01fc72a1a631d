import { createHash } from "node:crypto";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { drainEvents } from "#lib/ingest/drain.ts";
import { systemIdPrefix } from "#lib/ingest/event-shape.ts";
import { type IngestApp, type IngestSite, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";
import { callOf, sendingSite } from "#tests/support/lead-journey.ts";
import { stopClock } from "#tests/support/stop-clock.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterEach(() => void vi.useRealTimers());
afterAll(() => app.stop());

const number = "+905551112233";
const answerOf = async (response: Response) => [response.status, (await response.json()).status, response.headers.get("x-opsmantik-dedup")];
const queued = [200, "queued", null];
/** What somebody who knows a site's public id sends, with a click of their own. */
const forged = (site: IngestSite, id: string, change: Record<string, unknown> = {}) =>
  app.sync(site, phoneCall(site, { eid: id, ...change, meta: { fp: "stranger", gclid: "stolen", intent_stamp: id } }));
const systemStampOf = (...parts: string[]) => `${systemIdPrefix}${createHash("sha256").update(JSON.stringify(parts)).digest("base64url")}`;
const callsOf = async (site: IngestSite) => [
  ...(await app.db.sql`select visitor_id, phone, gclid, reported_by, signed_at is not null as signed
    from public.calls where site_id = ${site.siteUuid} order by signed_at nulls first`),
];

describe("a stranger claims the id that a telephone system will use", () => {
  // Guarantee: the call is stored with its own number and click, whatever was sent before it. Mutation: take event_id as the stamp.
  test.each<[string, (site: IngestSite) => Promise<Response>]>([
    ["as the id of a page view", (site) => app.sync(site, pageView(site, { eid: "PBX-7" }))],
    ["as the stamp of a conversion", (site) => forged(site, "PBX-7")],
    ["as the visitor", (site) => app.sync(site, phoneCall(site, { meta: { fp: "PBX-7", gclid: "stolen" } }))],
    ["spelled as it is stored", (site) => forged(site, systemStampOf("event", "PBX-7"))],
    ["and worker and system are one step behind", async (site) => forged(site, "PBX-7").finally(() => drainEvents())],
  ])("%s", async (_name, attack) => {
    const site = await sendingSite(app);
    expect((await attack(site)).status).toBe(200);
    expect(await answerOf(await app.call(site, { event_id: "PBX-7", phone_number: number, gclid: "own" }))).toEqual(queued);
    await drainEvents();
    const calls = await callsOf(site);
    expect(calls.at(-1)).toEqual({
      visitor_id: systemStampOf("event", "PBX-7"),
      phone: number,
      gclid: "own",
      reported_by: "system",
      signed: true,
    });
    for (const call of calls.slice(0, -1)) expect(call).toMatchObject({ phone: null, signed: false });
  });

  test("a conversion that comes after the call takes neither its number nor its place", async () => {
    const site = await sendingSite(app);
    await app.call(site, { event_id: "PBX-7", phone_number: number });
    await drainEvents();
    for (const id of ["PBX-7", systemStampOf("event", "PBX-7")]) await forged(site, id);
    await drainEvents();
    expect((await callsOf(site)).map(({ phone, gclid }) => [phone, gclid])).toEqual([
      [null, "stolen"],
      [null, "stolen"],
      [number, null],
    ]);
  });

  // Guarantee: a key of an event says who sent it. Mutation: leave the reporter out of idempotencyKey.
  test("an event with the same words, page, visitor and moment does not make the call a duplicate", async () => {
    stopClock();
    const site = await sendingSite(app);
    const url = `${site.origin}/contact`;
    const words = { ec: "conversion", ea: "phone_call", el: "stamp", u: url, eid: "other", meta: { fp: "ayse" } };
    await app.sync(site, pageView(site, words));
    const report = { intent_stamp: "stamp", fingerprint: "ayse", url, phone_number: number };
    expect(await answerOf(await app.call(site, report))).toEqual(queued);
    await drainEvents();
    expect(await callOf(app, site, "stamp")).toMatchObject({ phone: number });
  });

  // Guarantee: a refusal of somebody who names the call as a visitor withdraws nothing from it. Mutation: the visitor's ids as optional(64).
  test("nobody withdraws the consent of a call by its id", async () => {
    const site = await sendingSite(app);
    await app.call(site, { event_id: "PBX-7", phone_number: number, gclid: "own" });
    await drainEvents();
    for (const fp of ["PBX-7", systemStampOf("event", "PBX-7")]) {
      await app.sync(site, { s: site.siteId, fp, consent_scopes: [], t: 0 });
      await app.sync(site, pageView(site, { consent_scopes: ["analytics"], meta: { fp } }));
    }
    await drainEvents();
    expect((await callsOf(site)).at(-1)).toMatchObject({ phone: number, gclid: "own" });
  });

  // Guarantee: also a gate with a mistake cannot let it in. Mutation: drop the constraint.
  test("the database refuses a system's id that no system reported", async () => {
    const site = await app.newSite();
    const event = { k: "0".repeat(64), e: systemStampOf("event", "PBX-7"), n: "conversion/phone_call", p: {}, r: 1 };
    const admitted = app.db.sql`select public.admit_events(${site.siteUuid}, ${app.db.sql.json([event])})`;
    await expect(admitted).rejects.toThrow("system_ids_are_signed");
  });
});
