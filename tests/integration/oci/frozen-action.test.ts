import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { actionOf, connectApi, defaultNames } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForWorker, minutesLater, moveConversion, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";
import { type OciApp, type OciSite, startOciApp } from "#tests/support/oci-app.ts";
import { recordVerdict } from "#tests/support/verdicts.ts";

let app: OciApp;
beforeAll(async () => {
  app = await startOciApp();
});
afterAll(() => app.stop());
const recover = (minutes = 20, from = new Date()) =>
  service(app.db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(minutes, from));

describe("the conversion action of a row", () => {
  const sold = "OpsMantik_V5_DEMIR_MUHUR";
  const choose = (site: OciSite, number: number) =>
    connectApi(app.db.sql, site, { actions: [{ conversionName: sold, action: actionOf(number) }] });
  const claimOne = async (site: OciSite, at: Date) => {
    const { token, rows } = await claimForWorker(app.db.sql, site, { at });
    return { token, id: rows[0]?.id, action: rows[0]?.conversionAction };
  };
  const settle = (site: OciSite, token: string, result: Record<string, unknown>, at: Date) =>
    service(app.db.sql, "settle_offline_conversion_jobs", { p_site_id: site.siteUuid, p_token: token, p_results: [result] }, at);

  // Guarantee: a conversion whose answer was lost is not counted a second time under the action that the owner chose since.
  // Mutation that breaks it: the present action alone in hand_out.
  test("is the one of the first hand-out to a worker, and its corrections keep it", async () => {
    const site = await app.newSite({ syncMethod: "api" });
    await choose(site, 7);
    const { saleId } = await sealLead(app.db.sql, site);
    expect((await claimOne(site, minutesLater(1))).action).toBe(actionOf(7));
    await choose(site, 8);
    await recover(20, minutesLater(1));
    const again = await claimOne(site, minutesLater(22));
    expect(again.action).toBe(actionOf(7));
    await settle(site, again.token, { id: again.id, outcome: "COMPLETED", transport: "ads_api", verdict: "CONFIRMED" }, minutesLater(23));
    expect(await app.db.sql`select conversion_action from public.provider_dispatches where sale_id = ${saleId}`).toEqual([
      { conversion_action: actionOf(7) },
    ]);
    await change(app.db.sql, { team: site }, "correct_sale", { id: saleId, amountCents: 99_000 }, { at: minutesLater(24) });
    expect(await claimOne(site, minutesLater(25))).toMatchObject({ action: actionOf(7) });
  });

  // Guarantee: an owner who chose a wrong action can choose another, and what was refused then goes there.
  test("is chosen anew after Google refused the row for good", async () => {
    const site = await app.newSite({ syncMethod: "api" });
    await choose(site, 7);
    await sealLead(app.db.sql, site);
    const { token, id } = await claimOne(site, minutesLater(1));
    const refusal = { id, outcome: "FAILED", code: "NO_CONVERSION_ACTION_FOUND", category: "VALIDATION" };
    await settle(site, token, refusal, minutesLater(2));
    await choose(site, 8);
    await moveConversion(app.db.sql, site, { id: String(id), to: "QUEUED" }, minutesLater(3));
    expect((await claimOne(site, minutesLater(4))).action).toBe(actionOf(8));
  });

  // Guarantee: an owner who lost an account and connects another loses no sale: what Google refused altogether, or asked to wait with, is not
  // there, so it goes to the new account.
  // Mutation that breaks it: forget the action after VALIDATION only.
  test.each([
    ["access was refused", { outcome: "FAILED", category: "AUTH", code: "INVALID_GRANT" }],
    ["a rate limit", { outcome: "RETRY", category: "RATE_LIMIT", code: "RATE_LIMIT" }],
    ["a click that is too recent", { outcome: "RETRY", category: "TRANSIENT", code: "TOO_RECENT_CLICK", free: true }],
    ["another row of the request at fault", { outcome: "RETRY", category: "TRANSIENT", code: "REFUSED_WITH_OTHERS", free: true }],
  ] as const)("is one of the new account after %s", async (_name, refusal) => {
    const site = await app.newSite({ syncMethod: "api" });
    await connectApi(app.db.sql, site);
    const { id } = await sealLead(app.db.sql, site);
    const claim = await claimForWorker(app.db.sql, site, { at: minutesLater(1) });
    await settleClaim(app.db.sql, site, claim, refusal, { at: minutesLater(2), batch: { outcome: "definite" } });
    const action = "customers/5555555555/conversionActions/1";
    await connectApi(app.db.sql, site, { actions: [{ conversionName: sold, action }], at: minutesLater(3) });
    expect((await claimForWorker(app.db.sql, site, { at: minutesLater(120) })).rows).toMatchObject([{ id, conversionAction: action }]);
  });

  // Guarantee: one sale is one conversion at Google. A hand-out whose answer was lost may have arrived under its action; a refusal of a later
  // one (the action was removed since, and Data Manager looks at that before it looks for duplicates) does not prove that it did not.
  // Mutations that break it: forget the action although may_have_arrived, or although a dispatch stands (assume_arrival).
  test.each([
    ["is waited for", false],
    ["was cancelled and sealed again", true],
  ])("stays with a row that may have arrived and %s, when a later attempt is refused", async (_name, isSealedAgain) => {
    const site = await app.newSite({ syncMethod: "api" });
    await choose(site, 7);
    const { callId, saleId } = await sealLead(app.db.sql, site);
    await claimOne(site, minutesLater(1));
    await recover(20, minutesLater(1));
    if (isSealedAgain) {
      await change(app.db.sql, { team: site }, "cancel_sale", { id: saleId }, { at: minutesLater(22) });
      await change(app.db.sql, { team: site }, "seal_call", { id: callId, amountCents: 425_000 }, { at: minutesLater(23) });
    }
    const { token, id } = await claimOne(site, minutesLater(25));
    const refusal = { id, outcome: "FAILED", code: "INVALID_CONVERSION_ACTION_ID", category: "VALIDATION" };
    await settle(site, token, refusal, minutesLater(26));
    await choose(site, 8);
    await moveConversion(app.db.sql, site, { id: String(id), to: "QUEUED" }, minutesLater(27));
    expect((await claimOne(site, minutesLater(40))).action).toBe(actionOf(7));
  });

  // Mutation that breaks it: assume_arrival without the action.
  test("stays with the retraction of a row that nobody answered for", async () => {
    const site = await app.newSite({ syncMethod: "api" });
    await choose(site, 7);
    const { saleId } = await sealLead(app.db.sql, site);
    await claimOne(site, minutesLater(1));
    await recover(20, minutesLater(1));
    await change(app.db.sql, { team: site }, "cancel_sale", { id: saleId }, { at: minutesLater(22) });
    await choose(site, 8);
    expect((await claimOne(site, minutesLater(25))).action).toBe(actionOf(7));
  });
});

describe("a conversion action that Google refuses", () => {
  const sold = defaultNames.seal;
  const code = "INVALID_CONVERSION_ACTION_ID";
  const refused = { outcome: "FAILED", code, category: "VALIDATION" } as const;
  const batch = { outcome: "definite", blockActions: [{ conversionName: sold, code, message: "" }] };

  // Guarantee: what an old account or action refuses says nothing of the one that new sales go to.
  // Mutations that break it: finish_batch blocks by name alone; with_refused_actions after end_claims, when the row has forgotten its action.
  test("is not the one that the name means now: nothing is blocked", async () => {
    const site = await app.newSite({ syncMethod: "api" });
    await connectApi(app.db.sql, site);
    const { saleId } = await sealLead(app.db.sql, site, { amountCents: 100_00 });
    const first = await claimForWorker(app.db.sql, site, { at: minutesLater(1) });
    const sent = { outcome: "COMPLETED", requestId: "frozen-1", recordIndex: 0 } as const;
    await settleClaim(app.db.sql, site, first, sent, { at: minutesLater(1), batch: { outcome: "success" } });
    await recordVerdict(app.db.sql, site, "frozen-1", "CONFIRMED", minutesLater(40));
    await connectApi(app.db.sql, site, { actions: [{ conversionName: sold, action: actionOf(8) }], at: minutesLater(50) });
    await change(app.db.sql, { team: site }, "correct_sale", { id: saleId, amountCents: 80_00 }, { at: minutesLater(51) });
    const correction = await claimForWorker(app.db.sql, site, { at: minutesLater(52) });
    expect(correction.rows).toMatchObject([{ kind: "RESTATE", conversionAction: actionOf(1) }]);
    await settleClaim(app.db.sql, site, correction, refused, { at: minutesLater(52), batch });
    const fresh = await sealLead(app.db.sql, site, { at: minutesLater(53) });
    expect((await claimForWorker(app.db.sql, site, { at: minutesLater(60) })).rows.map(({ id }) => id)).toEqual([fresh.id]);
  });

  test("is the one that new sales go to: they wait", async () => {
    const site = await app.newSite({ syncMethod: "api" });
    await connectApi(app.db.sql, site);
    await sealLead(app.db.sql, site);
    const first = await claimForWorker(app.db.sql, site, { at: minutesLater(1) });
    await settleClaim(app.db.sql, site, first, refused, { at: minutesLater(2), batch });
    await sealLead(app.db.sql, site, { at: minutesLater(3) });
    expect((await claimForWorker(app.db.sql, site, { at: minutesLater(10) })).rows).toEqual([]);
  });
});
