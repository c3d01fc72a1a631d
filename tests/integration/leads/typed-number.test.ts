import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { drainEvents } from "#lib/ingest/drain.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { callersOfNumber, vouchedCallers } from "#tests/fixtures/callers.ts";
import { type IngestApp, type IngestSite, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";
import { callOf, sendingSite } from "#tests/support/lead-journey.ts";

let app: IngestApp;
beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
});
afterAll(() => app.stop());

const typed = "+905325554107";
const kept = () => ({ phone: typed, caller_hash: callersOfNumber(typed)[0]?.hash, caller_key_id: callersOfNumber(typed)[0]?.keyId });

const report = {
  tracker: (site: IngestSite, consent_scopes: string[]) =>
    app.sync(site, phoneCall(site, { consent_scopes, meta: { fp: "ayse", gclid: "click", intent_stamp: "stamp" } })),
  system: (site: IngestSite) => app.call(site, { intent_stamp: "stamp", phone_number: "+905551112233" }),
};
const [agreed, refused] = [["analytics", "marketing"], ["analytics"]];

/** What an operator types; without a vault key it comes without a hash. */
async function typeNumber(site: IngestSite, { phone = typed, hash = true } = {}): Promise<void> {
  await drainEvents();
  const [caller] = await vouchedCallers(app.db.sql, site.siteId, phone);
  const contact = { phone, ...(hash && { caller }) };
  const { id } = await callOf(app, site);
  await callAs(app.db.sql, app.owner, (tx) => tx`select public.set_lead_contact(${site.siteId}, ${id}, ${tx.json(contact as never)})`);
}

// Guarantee: what an operator wrote down is not replaced by a machine that comes later. Mutation: leave number_is_typed out of merge_call.
describe("a number that an operator typed", () => {
  test.each([
    ["the visitor agreed", agreed],
    ["the visitor agreed to no marketing", refused],
  ])("stays when the telephone system reports another: %s", async (_name, scopes) => {
    const site = await sendingSite(app);
    await report.tracker(site, scopes);
    await typeNumber(site);
    await report.system(site);
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ ...kept(), signed_at: expect.any(Date) });
  });

  test("stays without a hash, too", async () => {
    const site = await sendingSite(app);
    await report.tracker(site, agreed);
    await typeNumber(site, { hash: false });
    await report.system(site);
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ phone: typed, caller_hash: null, signed_at: expect.any(Date) });
  });

  // Where consent is required, the system's number is held until the tracker says yes.
  test("stays when the visitor's yes brings the number that was held", async () => {
    const site = await sendingSite(app, { consentMode: "required" });
    await report.system(site);
    await typeNumber(site);
    await report.tracker(site, agreed);
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ ...kept(), marketing_consent: true, gclid: "click" });
  });

  // Mutation: leave number_is_typed out of add_caller_number.
  test("stays when the telephone system names one in a second message", async () => {
    const site = await sendingSite(app);
    await app.call(site, { event_id: "c" });
    await typeNumber(site, { hash: false });
    await app.call(site, { event_id: "c", phone_number: "+905551112233" });
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ phone: typed, caller_hash: null });
  });

  // Mutation: keep a typed number whatever the consent.
  test("goes with a refusal that the tracker tells of afterwards", async () => {
    const site = await sendingSite(app);
    await report.system(site);
    await typeNumber(site);
    await report.tracker(site, refused);
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ phone: null, caller_hash: null, marketing_consent: false });
  });

  test("makes room again once it was taken away", async () => {
    const site = await sendingSite(app);
    await report.tracker(site, agreed);
    await typeNumber(site);
    await typeNumber(site, { phone: "" });
    await report.system(site);
    await drainEvents();
    expect(await callOf(app, site)).toMatchObject({ phone: "+905551112233" });
  });
});
