import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { drainEvents } from "#lib/ingest/drain.ts";
import { service } from "#tests/fixtures/service.ts";
import { createKey } from "#tests/fixtures/site.ts";
import { type IngestApp, type IngestSite, pageView, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";
import { callOf, handedOut, saleOf, sealOnlyCall, sendingSite } from "#tests/support/lead-journey.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterAll(() => app.stop());

/** Somebody who saw the click id of another's visit, in a link that was passed on. */
const arrives = (site: IngestSite) => app.sync(site, pageView(site, { meta: { fp: "stranger", gclid: "shared" } }));
const refuses = (site: IngestSite, fp = "stranger") => app.sync(site, { s: site.siteId, fp, consent_scopes: [], t: 0 });

describe("a stranger who comes with another visitor's click id, and refuses marketing", () => {
  // Guarantee: a choice is about its own visitor. Mutation: leave `s.call_id is null` out of withdraw_marketing.
  test("does not stop the sale that an operator sealed for the other visitor's lead", async () => {
    const site = await sendingSite(app);
    await app.sync(site, phoneCall(site, { meta: { fp: "ayse", gclid: "shared", intent_stamp: "stamp" } }));
    const { saleId } = await sealOnlyCall(app, site);
    await arrives(site);
    await drainEvents();
    await refuses(site);
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ gclid: "shared", marketing_consent: true });
    expect(await saleOf(app, saleId)).toMatchObject({ delivery_block: null, gclid: "shared", rows: [["QUEUED", null]] });
    expect(await handedOut(app, site)).toMatchObject([{ gclid: "shared" }]);
  });

  test("and the other visitor's own refusal still stops it", async () => {
    const site = await sendingSite(app);
    await app.sync(site, phoneCall(site, { meta: { fp: "ayse", gclid: "shared", intent_stamp: "stamp" } }));
    const { saleId } = await sealOnlyCall(app, site);
    await refuses(site, "ayse");
    expect(await saleOf(app, saleId)).toMatchObject({ delivery_block: "NO_CONSENT", gclid: null, rows: [["FAILED", "NO_CONSENT"]] });
  });

  test("changes no other visitor's visit, call or choice", async () => {
    const site = await sendingSite(app);
    await app.sync(site, phoneCall(site, { meta: { fp: "ayse", gclid: "shared", intent_stamp: "stamp" } }));
    await app.call(site, { intent_stamp: "stamp", phone_number: "+905551112233" });
    await arrives(site);
    await drainEvents();
    await refuses(site);
    expect(await callOf(app, site)).toMatchObject({ phone: "+905551112233", gclid: "shared", visitor_id: "ayse" });
    const visits = await app.db.sql`select visitor_id, gclid from public.sessions where site_id = ${site.siteUuid} order by visitor_id`;
    expect([...visits]).toEqual([
      { visitor_id: "ayse", gclid: "shared" },
      { visitor_id: "stranger", gclid: null },
    ]);
  });
});

// Guarantee: a lead that anybody can report does not take the sale of one that was confirmed. Mutation: leave signed_at out of candidate_calls.
test("a forged lead with the same click, newer than the signed one, does not take its sale", async () => {
  const site = await sendingSite(app);
  const { id: keyId } = await createKey(app.db.sql, site, ["sales"]);
  await app.sync(site, phoneCall(site, { t: 60_000, meta: { fp: "ayse", gclid: "shared", intent_stamp: "stamp" } }));
  await app.call(site, { intent_stamp: "stamp" });
  await drainEvents();
  await app.sync(site, phoneCall(site, { meta: { fp: "stranger", gclid: "shared", intent_stamp: "forged" } }));
  await drainEvents();
  const p_sale = { externalRef: "till-1", occurredAt: new Date(Date.now() + 60_000).toISOString(), amountCents: 150_000, gclid: "shared" };
  const answer = await service<{ body: string }>(app.db.sql, "record_external_sale", {
    p_key_id: keyId,
    p_sale,
    p_request_hash: "0".repeat(64),
  });
  expect(JSON.parse(answer.body).call_id).toBe((await callOf(app, site, "stamp")).id);
});
