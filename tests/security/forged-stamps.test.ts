import fc from "fast-check";
import type postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { drainEvents, storedRow } from "#lib/ingest/drain.ts";
import { capturedEvent } from "#lib/ingest/event-shape.ts";
import { callerRing } from "#lib/vault/caller-hash.ts";
import { service } from "#tests/fixtures/service.ts";
import { figuresOf, type IngestApp, type IngestSite, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";
import { callOf, handedOut, saleOf, sealOnlyCall, sendingSite } from "#tests/support/lead-journey.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterAll(() => app.stop());

const number = "+905551112233";
const answerOf = async (response: Response) => [response.status, (await response.json()).status, response.headers.get("x-opsmantik-dedup")];
const queued = [200, "queued", null];
/** What somebody who knows a site's public id sends, with a click of their own. */
const forged = (site: IngestSite, id: string, change: Record<string, unknown> = {}) =>
  app.sync(site, phoneCall(site, { eid: id, ...change, meta: { fp: "stranger", gclid: "stolen", intent_stamp: id } }));

describe("a forged stamp and the signed report of the same click", () => {
  const signed = (site: IngestSite, change: Record<string, unknown> = {}) =>
    app.call(site, { intent_stamp: "stamp", phone_number: number, gclid: "own", ...change });

  // Guarantee: the signed report completes the call; its number, time and click replace what came unsigned. One call, one unit.
  test.each([
    ["forged first", false],
    ["forged first, stored between", true],
    ["signed first", false],
    ["signed first, stored between", true],
  ])("%s: %s", async (order, isBetween) => {
    const site = await sendingSite(app);
    const attack = () => forged(site, "stamp", { t: 80_000_000 });
    const real = async () => expect(await answerOf(await signed(site))).toEqual(queued);
    for (const report of order.startsWith("forged") ? [attack, real] : [real, attack]) {
      await report();
      if (isBetween) await drainEvents();
    }
    await drainEvents();
    const call = await callOf(app, site);
    expect(call).toMatchObject({ phone: number, gclid: "own", click_is_signed: true });
    expect(Date.now() - Number(call.called_at)).toBeLessThan(60_000); // not the day before, as the stranger said
    expect(call.called_at).toEqual(call.signed_at);
    expect(await figuresOf(app.db, site)).toMatchObject({ billed: 1, calls: 1 });
  });

  // Guarantee: whoever commits first, both reports are one call with the signed facts. Mutation: answer an enriched report "duplicate".
  test("the signed report waits for the forged one's commit, and completes it", async () => {
    const site = await sendingSite(app);
    const first = { k: "a".repeat(64), e: "stamp", n: "interaction/view", r: 1, p: {} };
    const response = await whileOpen(
      app.db.sql,
      (tx) => tx`select public.admit_events(${site.siteUuid}, ${tx.json([first])})`,
      () => signed(site),
    );
    expect(await answerOf(response)).toEqual(queued);
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ phone: number, gclid: "own" });
    expect((await figuresOf(app.db, site)).billed).toBe(1);
  });

  test("the forged one rolls back while the signed one waits: the call is new", async () => {
    const site = await sendingSite(app);
    const first = { k: "b".repeat(64), e: "stamp", n: "interaction/view", r: 1, p: {} };
    const admit = (tx: postgres.TransactionSql) => tx`select public.admit_events(${site.siteUuid}, ${tx.json([first])})`;
    expect(await answerOf(await whileOpen(app.db.sql, admit, () => signed(site), "rollback"))).toEqual(queued);
    expect(await figuresOf(app.db, site)).toMatchObject({ billed: 1, captured: 1 });
  });

  // Guarantee: two workers that store both at once make one call. Mutation: return 0 from store_call when the insert finds a row.
  test("one worker stores the signed report while another holds the forged one open", async () => {
    await drainEvents();
    const site = await sendingSite(app);
    await forged(site, "stamp");
    await signed(site);
    await whileOpen(
      app.db.sql,
      async (tx) => {
        const [row] = await tx`select public.get_and_claim_fallback_batch(1) as batch`;
        const rows = row?.batch.rows.map((one: { id: string; payload: unknown; phoneHash: string | null }) =>
          storedRow(one, capturedEvent.parse(one.payload), callerRing()),
        );
        await tx`select public.store_events(${row?.batch.token}, ${tx.json(rows)})`;
      },
      () => drainEvents(),
    );
    expect(await callOf(app, site)).toMatchObject({ phone: number, gclid: "own", reported_by: "tracker" });
  });

  test("two signed reports are one: the second is a duplicate, also at the same moment", async () => {
    const site = await sendingSite(app);
    await forged(site, "stamp");
    const answers = await Promise.all([1, 2, 3].map(async () => (await answerOf(await signed(site)))[1]));
    expect(answers.toSorted()).toEqual(["duplicate", "duplicate", "queued"]);
    await drainEvents();
    expect(await figuresOf(app.db, site)).toMatchObject({ billed: 1, calls: 1 });
  });

  test("a signed report without a click keeps the tracker's, and without a number takes none away", async () => {
    const site = await sendingSite(app);
    await signed(site, { gclid: "" });
    await app.sync(site, phoneCall(site, { meta: { fp: "ayse", gclid: "click", intent_stamp: "stamp" } }));
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ phone: number, gclid: "click", click_is_signed: false, visitor_id: "ayse" });
  });

  test("held until the visitor agrees, the signed click still wins", async () => {
    const site = await sendingSite(app, { consentMode: "required" });
    await signed(site);
    await drainEvents();
    await forged(site, "stamp", { consent_scopes: ["analytics", "marketing"] });
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ phone: number, gclid: "own", click_is_signed: true });
  });

  test("with a full hard plan the signed report of a known call is taken and not billed", async () => {
    const site = await app.newSite({ plan: { limit: 1, enforcement: "hard" } });
    await forged(site, "stamp");
    expect(await answerOf(await signed(site))).toEqual(queued);
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ phone: number, gclid: "own" });
    expect((await figuresOf(app.db, site)).billed).toBe(1);
  });

  test("consent withdrawn between the two: neither number nor click is kept", async () => {
    const site = await sendingSite(app);
    await forged(site, "stamp");
    await drainEvents();
    await app.sync(site, { s: site.siteId, fp: "stranger", consent_scopes: [], t: 0 });
    await signed(site);
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ phone: null, gclid: null, click_is_signed: false, marketing_consent: false });
  });

  // Guarantee: a seal made on the stranger's click is sent with the true one, while nothing was handed out.
  // Mutation: leave use_better_click out.
  test("after the seal, and before anything is handed out, the sale goes with the signed click", async () => {
    const site = await sendingSite(app);
    await forged(site, "stamp");
    const { saleId } = await sealOnlyCall(app, site);
    expect(await saleOf(app, saleId)).toMatchObject({ gclid: "stolen" });
    await signed(site);
    await drainEvents();
    expect(await saleOf(app, saleId)).toMatchObject({ gclid: "own", rows: [["QUEUED", null]] });
    expect(await handedOut(app, site)).toMatchObject([{ gclid: "own" }]);
  });

  test("after the hand-out the sale stays as it went", async () => {
    const site = await sendingSite(app);
    await forged(site, "stamp");
    const { saleId } = await sealOnlyCall(app, site);
    expect(await handedOut(app, site)).toMatchObject([{ gclid: "stolen" }]);
    await signed(site);
    await drainEvents();
    expect(await saleOf(app, saleId)).toMatchObject({ gclid: "stolen", rows: [["PROCESSING", null]] });
    expect(await callOf(app, site)).toMatchObject({ gclid: "own", phone: number });
  });

  test("after the captured payload was purged, it completes the call and bills nothing", async () => {
    const site = await sendingSite(app);
    await forged(site, "stamp");
    await drainEvents();
    await service(app.db.sql, "purge_stored_events", {}, new Date(Date.now() + 2 * 86_400_000));
    await signed(site);
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ phone: number, gclid: "own" });
    expect((await figuresOf(app.db, site)).billed).toBe(1);
  });

  // Guarantee: whatever the order, the repeats and the worker's moments, it ends in one call with the signed facts and one unit.
  test("any order of forged, signed and worker", async () => {
    const step = fc.constantFrom("forged", "signed", "worker", "view");
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 5 }), async (steps) => {
        const site = await sendingSite(app);
        for (const next of [...steps, "signed"]) {
          if (next === "worker") await drainEvents();
          else if (next === "forged") await forged(site, "stamp");
          else if (next === "view") await app.sync(site, pageView(site, { eid: "stamp" }));
          else await signed(site);
        }
        await drainEvents();
        expect(await callOf(app, site)).toMatchObject({ phone: number, gclid: "own", click_is_signed: true });
        expect((await figuresOf(app.db, site)).billed).toBe(1);
      }),
      { numRuns: 20, seed: 7 },
    );
  });
});
