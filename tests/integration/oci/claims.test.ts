import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ExportItem } from "#lib/oci/handout/items.ts";
import { claimForScript, claimForWorker, minutesLater, readRow, sealLead } from "#tests/fixtures/queue.ts";
import { callIn, service } from "#tests/fixtures/service.ts";
import { act, undo } from "#tests/support/control.ts";
import { type OciApp, type OciSite, startOciApp } from "#tests/support/oci-app.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let app: OciApp;
beforeAll(async () => {
  app = await startOciApp();
});
afterAll(() => app.stop());

const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000);
const sendable = { at: hoursAgo(3) };
const recover = (minute: number, from?: Date) =>
  service(app.db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(minute, from));

/** What the script is handed now: the claim of each item. */
async function exportClaims(site: OciSite, token: string): Promise<Record<string, string>> {
  const items: ExportItem[] = await (await app.exportRows(site, token)).json();
  return Object.fromEntries(items.map(({ id, claim }) => [id, claim]));
}
async function claimedAgain(site: OciSite, token: string) {
  const older = await exportClaims(site, token);
  await recover(20, new Date());
  await service(app.db.sql, "recover_marketing_signals", {}, minutesLater(20, new Date()));
  const newer = await exportClaims(site, token);
  expect(Object.keys(newer)).toEqual(Object.keys(older));
  return { older, newer, queueIds: Object.keys(newer) };
}
const failure = { errorCode: "APPLY_FAILED", errorMessage: "threw", errorCategory: "TRANSIENT" };
const statesOf = async (site: OciSite) => [
  ...(await app.db.sql`select status from public.offline_conversion_queue where site_id = ${site.siteUuid}`).map(({ status }) => status),
  ...(await app.db.sql`select dispatch_status from public.marketing_signals where site_id = ${site.siteUuid}`).map(
    (row) => row.dispatch_status,
  ),
];
const withBoth = { settings: { signalsEnabled: true } };

/** A seal and a signal that two runs have claimed, one after the other. */
async function twice() {
  const site = await app.newSite(withBoth);
  await sealLead(app.db.sql, site, sendable);
  const token = await app.session(site);
  return { site, token, ...(await claimedAgain(site, token)) };
}

// Guarantee: a run that is told late that it failed never ends the claim of the run that came after it.
describe("a failure", () => {
  // Mutation that breaks it: compare with nothing in fail_offline_conversions or fail_marketing_signals.
  test("with a stale claim changes nothing and is refused with a reason", async () => {
    const { site, token, older, queueIds } = await twice();
    const answer = await (await app.ackFailed(site, token, { queueIds, claims: older, ...failure })).json();
    expect(answer).toEqual({
      ok: true,
      updated: 0,
      warnings: { refused: queueIds.toSorted(), reasons: Object.fromEntries(queueIds.map((id) => [id, "STALE_CLAIM"])) },
    });
    expect(await statesOf(site)).toEqual(["PROCESSING", "PROCESSING"]);
  });

  test("with the newest claim ends it, and answers the same when it comes twice", async () => {
    const { site, token, newer, queueIds } = await twice();
    for (let times = 0; times < 2; times++) {
      const answer = await (await app.ackFailed(site, token, { queueIds, claims: newer, ...failure })).json();
      expect(answer).toEqual({ ok: true, updated: 2 });
    }
    expect(await statesOf(site)).toEqual(["FAILED", "PENDING"]);
  });

  test.each([
    ["was never made", () => randomUUID()],
    ["is no claim at all", () => "'; drop table"],
  ])("with a claim that %s is refused", async (_what, forged) => {
    const site = await app.newSite(withBoth);
    await sealLead(app.db.sql, site, sendable);
    const token = await app.session(site);
    const queueIds = Object.keys(await exportClaims(site, token));
    const claims = Object.fromEntries(queueIds.map((id) => [id, forged()]));
    const answer = await (await app.ackFailed(site, token, { queueIds, claims, ...failure })).json();
    expect([answer.updated, answer.warnings.refused.length]).toEqual([0, 2]);
    expect(await statesOf(site)).toEqual(["PROCESSING", "PROCESSING"]);
  });

  // Guarantee: an installed script that knows no claims goes on working, and does no harm either.
  test("without claims is refused where two runs could be meant; recovery then takes over", async () => {
    const { site, token, queueIds } = await twice();
    const answer = await (await app.ackFailed(site, token, { queueIds, ...failure })).json();
    expect(answer.warnings).toEqual({
      refused: queueIds.toSorted(),
      reasons: Object.fromEntries(queueIds.map((id) => [id, "CLAIMED_TWICE"])),
    });
    expect(await statesOf(site)).toEqual(["PROCESSING", "PROCESSING"]);
    await recover(40, new Date());
    expect((await statesOf(site))[0]).toBe("RETRY");
  });

  const fail = (site: OciSite, id: string, minute: number, more = {}) =>
    service(
      app.db.sql,
      "fail_offline_conversions",
      { p_site_id: site.siteUuid, p_ids: [id], p_code: "X", p_category: "TRANSIENT", p_message: "threw", ...more },
      minutesLater(minute),
    );

  // Mutation that breaks it: another number of minutes in was_claimed_twice.
  test.each([
    [44, "PROCESSING"],
    [45, "FAILED"],
  ])("without claims, %d minutes after the first of two claims: %s", async (minute, status) => {
    const site = await app.newSite();
    const { id } = await sealLead(app.db.sql, site);
    await claimForScript(app.db.sql, site, [id], minutesLater(0));
    await recover(16);
    await claimForScript(app.db.sql, site, [id], minutesLater(40));
    await fail(site, id, minute);
    expect((await readRow(app.db.sql, id)).status).toBe(status);
  });

  test("an operator's undo is no second claim", async () => {
    const site = await app.newSite();
    const { id } = await sealLead(app.db.sql, site);
    await claimForScript(app.db.sql, site, [id], minutesLater(1));
    const given = await act(app.db.sql, { action: "MARK_FAILED", ids: [id] }, { team: site, at: minutesLater(2) });
    await undo(app.db.sql, given.body.actionId, { team: site, at: minutesLater(3) });
    expect(await fail(site, id, 4)).toMatchObject({ updated: 1, reasons: {} });
    expect((await readRow(app.db.sql, id)).status).toBe("FAILED");
  });

  // Guarantee: the claim that a failure ends is the one it was judged by, also when the row is being claimed at this moment.
  // Mutation that breaks it: lock_sales_of instead of lock_with_sales in fail_offline_conversions.
  test.each([
    ["with the older claim", "STALE_CLAIM"],
    ["without claims", "CLAIMED_TWICE"],
  ])("%s waits for a claim that is being made, and leaves it alone", async (how, reason) => {
    const site = await app.newSite();
    const { id } = await sealLead(app.db.sql, site);
    const { token } = await claimForScript(app.db.sql, site, [id], minutesLater(1));
    await recover(20);
    const answer = await whileOpen(
      app.db.sql,
      async (tx) => {
        await tx`select set_config('opsmantik.now', ${minutesLater(21).toISOString()}, true)`;
        await callIn(tx, "claim_offline_conversion_rows_for_script_export", { p_ids: [id], p_site_id: site.siteUuid });
      },
      () => fail(site, id, 21, how === "without claims" ? {} : { p_claims: { [id]: token } }),
    );
    expect(answer).toEqual({ updated: 0, refused: [id], reasons: { [id]: reason } });
    expect((await readRow(app.db.sql, id)).status).toBe("PROCESSING");
  });
});

// Guarantee: what Google has is never sent again because the claim under which it left was over.
describe("a success", () => {
  test.each([
    ["an older claim", ({ older }: { older: Record<string, string> }) => ({ claims: older })],
    ["no claim", () => ({})],
    ["a claim that was never made", () => ({ claims: { seal_1: "x" } })],
  ])("counts with %s", async (_how, claims) => {
    const made = await twice();
    const response = await app.ack(made.site, made.token, made.queueIds, claims(made));
    expect(await response.json()).toEqual({ ok: true, updated: 2 });
    expect(await statesOf(made.site)).toEqual(["COMPLETED", "SENT"]);
  });

  test("with more claims than ids may be given is refused", async () => {
    const site = await app.newSite();
    const claims = Object.fromEntries(Array.from({ length: 1001 }, (_value, index) => [`seal_${index}`, "x"]));
    expect((await app.ack(site, await app.session(site), ["seal_1"], { claims })).status).toBe(400);
  });
});

// Guarantee: the largest report that may be sent is read. Mutation that breaks it: the usual limit of 64 KB.
test("a thousand ids with a thousand claims fit into a report", async () => {
  const site = await app.newSite();
  const token = await app.session(site);
  const queueIds = Array.from({ length: 1000 }, () => `signal_${randomUUID()}`);
  const claims = Object.fromEntries(queueIds.map((id) => [id, randomUUID()]));
  const answers = [await app.ack(site, token, queueIds, { claims }), await app.ackFailed(site, token, { queueIds, claims })];
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
});

describe("settle", () => {
  async function claimedByWorker() {
    const site = await app.newSite({ syncMethod: "api" });
    const { id } = await sealLead(app.db.sql, site);
    const { token } = await claimForWorker(app.db.sql, site, { at: minutesLater(1) });
    return { site, id, token };
  }
  const settle = (site: OciSite, token: string | null, result: Record<string, unknown>, minute = 2) =>
    service(
      app.db.sql,
      "settle_offline_conversion_jobs",
      { p_site_id: site.siteUuid, p_token: token, p_results: [result] },
      minutesLater(minute),
    );
  const outcomes = [{ outcome: "COMPLETED" }, { outcome: "FAILED", code: "X", category: "VALIDATION" }];

  // Guarantee: a worker settles the rows of its site under its own claim, and learns nothing of anybody else's.
  // Mutations that break it: drop of_this_site, or p_token from complete_rows.
  test.each(outcomes)("another site's row is neither changed nor revealed: %j", async (outcome) => {
    const [mine, theirs] = [await claimedByWorker(), await claimedByWorker()];
    const before = await readRow(app.db.sql, theirs.id);
    const answer = await settle(mine.site, theirs.token, { id: theirs.id, ...outcome });
    expect(answer).toEqual(await settle(mine.site, theirs.token, { id: randomUUID(), ...outcome }));
    expect(await readRow(app.db.sql, theirs.id)).toEqual(before);
  });

  test.each(outcomes)("without a claim nothing is settled: %j", async (outcome) => {
    const { site, id } = await claimedByWorker();
    await expect(settle(site, null, { id, ...outcome })).rejects.toMatchObject({ message: "VALIDATION_FAILED" });
    expect((await readRow(app.db.sql, id)).status).toBe("PROCESSING");
  });

  test("a success needs a claim that this row was given, and counts however late", async () => {
    const [first, second] = [await claimedByWorker(), await claimedByWorker()];
    expect(await settle(first.site, second.token, { id: first.id, outcome: "COMPLETED" })).toMatchObject({ completed: 0, stale: 1 });
    expect((await readRow(app.db.sql, first.id)).status).toBe("PROCESSING");
    await recover(20);
    const again = await claimForWorker(app.db.sql, first.site, { at: minutesLater(21) });
    expect(again.token).not.toBe(first.token);
    expect(await settle(first.site, first.token, { id: first.id, outcome: "COMPLETED" }, 22)).toMatchObject({ completed: 1, stale: 0 });
  });
});
