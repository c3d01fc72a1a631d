import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { actionOf, connectApi, defaultActions } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForWorker, listGroups, minutesLater, moveConversion, readRow, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { recordVisit } from "#tests/fixtures/record-visit.ts";
import { service } from "#tests/fixtures/service.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { act, listRows, preview, readStats, undo } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { recordVerdict } from "#tests/support/verdicts.ts";

let db: TestDatabase;
let owner: Person;
let team: Team;
let teams = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  owner = await createPerson(db.sql, "owner@sendable.test");
});
beforeEach(async () => {
  team = await createApiTeam(db.sql, `sendable-${++teams}`, owner);
});
afterAll(() => db.drop());

const claim = (minute: number) => claimForWorker(db.sql, team, { at: minutesLater(minute) });
const seal = () => sealLead(db.sql, team, { amountCents: 100_00 });
const asOwner = (call: Parameters<typeof callAs>[2]) => callAs(db.sql, owner, call);

// Guarantee: what no API adjusts becomes a person's work, on an API site too, and never a value of 0.
describe("an adjustment that no API makes", () => {
  /** Confirmed at Google and then cancelled: the retraction's id. */
  async function cancelled(step = {}): Promise<string> {
    const { saleId } = await sealLead(db.sql, team, { amountCents: 100_00, step });
    const result = { outcome: "COMPLETED", requestId: saleId, recordIndex: 0 } as const;
    await settleClaim(db.sql, team, await claim(1), result, { at: minutesLater(2) });
    await recordVerdict(db.sql, team, saleId, "CONFIRMED", minutesLater(40));
    await change(db.sql, { team }, "cancel_sale", { id: saleId }, { at: minutesLater(41) });
    const [row] = await db.sql`select id from public.offline_conversion_queue where sale_id = ${saleId} and kind = 'RETRACT'`;
    return String(row?.id);
  }
  const refused = { outcome: "FAILED", category: "AUTH", code: "USER_PERMISSION_DENIED", byHand: "NO_ADS_API_ACCESS" } as const;
  const done = (id: string, minute: number) =>
    callAs(
      db.sql,
      team.operator,
      (tx) => tx`select public.complete_adjustment_by_hand(${team.siteId}, ${tx.json({ id, valueCents: 0 })})`,
      minutesLater(minute),
    );

  // Mutations that break it: fail the row; leave by_hand_reason out of complete_adjustment_by_hand or of the figures.
  test("for want of access waits for a person, is never claimed or capped, and can be marked done", async () => {
    const id = await cancelled();
    expect(await settleClaim(db.sql, team, await claim(42), refused, { at: minutesLater(43) })).toMatchObject({ retried: 1 });
    expect(await readRow(db.sql, id)).toMatchObject({ status: "RETRY", next_retry_at: null, by_hand_reason: "NO_ADS_API_ACCESS" });
    await service(db.sql, "oci_attempt_cap", { p_max_attempts: 1 }, minutesLater(60));
    expect((await claim(61)).rows).toEqual([]);
    expect(await listGroups(db.sql, minutesLater(61), [team.siteUuid])).toEqual([]);
    expect(await readStats(db.sql, team, minutesLater(61))).toMatchObject({ waitingByHand: 1 });
    for (const to of ["api", "script"]) {
      const preview = await asOwner((tx) => tx`select public.preview_delivery_switch(${team.siteId}, ${to})`);
      expect(preview).toMatchObject({ adjustmentsByHand: 1 }); // a switch changes nothing about it
    }
    const { rows } = await listRows(db.sql, team, { q: id }, { at: minutesLater(61) });
    expect(rows).toMatchObject([{ byHandReason: "NO_ADS_API_ACCESS", waitsFor: null }]);
    await done(id, 62);
    expect((await readRow(db.sql, id)).status).toBe("COMPLETED");
  });

  test("is tried over the API again when an operator says so, and not after an undo of that", async () => {
    const id = await cancelled();
    await settleClaim(db.sql, team, await claim(42), refused, { at: minutesLater(43) });
    const again = { action: "RETRY_SELECTED", ids: [id], overApi: true } as const;
    const { body } = await act(db.sql, again, { team, at: minutesLater(44) });
    expect((await readRow(db.sql, id)).by_hand_reason).toBeNull();
    await undo(db.sql, body.actionId, { team, at: minutesLater(45) });
    expect((await readRow(db.sql, id)).by_hand_reason).toBe("NO_ADS_API_ACCESS");
    await act(db.sql, again, { team, at: minutesLater(46) });
    expect((await claim(47)).rows).toMatchObject([{ id, via: "ads_api" }]);
  });

  // Guarantee: a bulk retry does not send what somebody may have done in Google Ads already; the preview says what it leaves alone, and why.
  // Mutation that breaks it: drop BY_HAND from judge_queue_rows.
  test("is left alone by a retry, a reset, a preview and a move, unless an operator says so of that row", async () => {
    const id = await cancelled();
    await settleClaim(db.sql, team, await claim(42), refused, { at: minutesLater(43) });
    const at = minutesLater(44);
    for (const action of ["RETRY_SELECTED", "RESET_TO_QUEUED"] as const) {
      const { body } = await act(db.sql, { action, ids: [id] }, { team, at });
      expect(body).toMatchObject({ affected: 0, skipped: [{ id, reason: "BY_HAND", status: "RETRY" }] });
      expect(await preview(db.sql, action, { q: id }, { team, at })).toMatchObject({ count: 0, ineligible: { BY_HAND: 1 } });
    }
    expect(await moveConversion(db.sql, team, { id, to: "QUEUED" }, at)).toMatchObject({ status: 409, body: { code: "ILLEGAL_MOVE" } });
    for (const action of [
      { action: "RESET_TO_QUEUED", ids: [id], overApi: true },
      { action: "RETRY_SELECTED", previewId: id, digest: "", overApi: true },
    ] as const)
      await expect(act(db.sql, action, { team, at })).rejects.toMatchObject({ code: "PT400" });
    expect(await readRow(db.sql, id)).toMatchObject({ status: "RETRY", by_hand_reason: "NO_ADS_API_ACCESS" });
    expect((await claim(45)).rows).toEqual([]);
    const asked = await callAs<QueueRowStory>(db.sql, team.viewer, (tx) => tx`select public.queue_row_story(${team.siteId}, ${id}, 5)`, at);
    expect(asked).toMatchObject({ row: { allowedActions: ["MARK_FAILED"] }, canTryApi: true });
  });

  test("comes back as a person's work when it was given up and is put back", async () => {
    const id = await cancelled();
    await settleClaim(db.sql, team, await claim(42), refused, { at: minutesLater(43) });
    await act(db.sql, { action: "MARK_FAILED", ids: [id] }, { team, at: minutesLater(44) });
    await act(db.sql, { action: "RESET_TO_QUEUED", ids: [id] }, { team, at: minutesLater(45) });
    expect(await readRow(db.sql, id)).toMatchObject({ status: "QUEUED", by_hand_reason: "NO_ADS_API_ACCESS" });
    expect((await claim(46)).rows).toEqual([]);
    await done(id, 47);
  });

  // Guarantee: what one account has is never sent to another, where its order id would be a new conversion; a person changes it there.
  // Mutations that break it: drop the account from sendable_queue, mark_elsewhere from connecting, or is_elsewhere from follow_ledger.
  test.each([
    ["before", true],
    ["after", false],
  ])(
    "of what another account has is by hand when the site moves %s the sale is cancelled, and the API's again when it comes back",
    async (_name, isLater) => {
      const moved = defaultActions.map((chosen) => ({ ...chosen, action: chosen.action.replace("1234567890", "9999999999") }));
      const { saleId } = await seal();
      const sent = { outcome: "COMPLETED", requestId: saleId, recordIndex: 0 } as const;
      await settleClaim(db.sql, team, await claim(1), sent, { at: minutesLater(2) });
      await recordVerdict(db.sql, team, saleId, "CONFIRMED", minutesLater(40));
      const cancel = () => change(db.sql, { team }, "cancel_sale", { id: saleId }, { at: minutesLater(41) });
      if (!isLater) await cancel();
      await connectApi(db.sql, team, { actions: moved, at: minutesLater(41) });
      if (isLater) await cancel();
      const [row] =
        await db.sql`select id, by_hand_reason from public.offline_conversion_queue where sale_id = ${saleId} and kind = 'RETRACT'`;
      expect(row?.by_hand_reason).toBe("OTHER_ACCOUNT");
      await act(db.sql, { action: "RESET_TO_QUEUED", ids: [row?.id] }, { team, at: minutesLater(42) });
      expect((await claim(43)).rows).toEqual([]);
      await connectApi(db.sql, team, { at: minutesLater(44) });
      expect((await claim(45)).rows).toMatchObject([{ id: row?.id, conversionAction: actionOf(1) }]);
    },
  );

  // Mutation that breaks it: drop click_kind from hand_out or complete_rows.
  test("of a conversion that left with a wbraid alone is by hand from the start, also after the click was forgotten", async () => {
    const visitor = `wbraid-${teams}`;
    const id = await cancelled({ gclid: null, wbraid: `wbraid-${teams}`, visitor });
    await recordVisit(db.sql, team.siteUuid, visitor, [{ at: minutesLater(42), url: "https://sendable.test/", marketingConsent: false }]);
    expect(await readRow(db.sql, id)).toMatchObject({ status: "QUEUED", by_hand_reason: "WBRAID_ONLY" });
    await act(db.sql, { action: "RESET_TO_QUEUED", ids: [id] }, { team, at: minutesLater(43) });
    expect((await claim(44)).rows).toEqual([]);
    expect((await readRow(db.sql, id)).by_hand_reason).toBe("WBRAID_ONLY");
    await done(id, 45);
  });

  test("an adjustment that an API makes cannot be marked done", async () => {
    await expect(done(await cancelled(), 50)).rejects.toMatchObject({ message: "ILLEGAL_MOVE" });
  });

  // Guarantee: a retraction never becomes a conversion of 0 at Data Manager, whoever writes the dispatch.
  test("a retraction settled as sent through Data Manager is refused", async () => {
    await cancelled();
    const claimed = await claim(42);
    const settled = settleClaim(db.sql, team, claimed, { outcome: "COMPLETED", transport: "data_manager" }, { at: minutesLater(43) });
    await expect(settled).rejects.toThrow("data_manager_cannot_retract");
  });
});
