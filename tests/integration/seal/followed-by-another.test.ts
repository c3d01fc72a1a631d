import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { act, listRows, undo } from "#tests/support/control.ts";
import { change } from "#tests/support/leads.ts";
import {
  claimForScript,
  claimForWorker,
  createApiTeam,
  createQueueTeam,
  minutesLater,
  moveConversion,
  sealLead,
  service,
} from "#tests/support/queue.ts";
import { callAs, type Team } from "#tests/support/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
let keyId: string;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createApiTeam(db.sql, "followed");
  const made = await callAs<{ id: string }>(
    db.sql,
    team.owner,
    (tx) => tx`select public.create_site_api_key(${team.publicId}, 'Till', '{sales}')`,
  );
  keyId = made.id;
});
afterAll(() => db.drop());

const hash = "0".repeat(64);

/** Claims all that is due and answers for it; gives what was handed out, by order. */
async function settle(outcome: string, minute: number): Promise<string[][]> {
  const { token, rows } = await claimForWorker(db.sql, team, { at: minutesLater(minute) });
  const p_results = rows.map(({ id }) => ({ id, outcome, code: "UNAVAILABLE", category: "TRANSIENT" }));
  const args = { p_site_id: team.siteId, p_token: token, p_results, p_transport: "ads_api" };
  await service(db.sql, "settle_offline_conversion_jobs", args, minutesLater(minute));
  return rows.map(({ kind, orderId }) => [kind, orderId]);
}

const orderOf = async (saleId: string): Promise<string> => {
  const [sale] = await db.sql`select order_id from public.sales where id = ${saleId}`;
  return String(sale?.order_id);
};
const retractionsOf = (saleId: string) =>
  db.sql`select id, status from public.offline_conversion_queue where sale_id = ${saleId} and kind = 'RETRACT' order by created_at`;

/** Google has the lead's first sale, which was cancelled; its retraction failed once and an operator gave it up. */
async function cancelledButKept() {
  const stamp = randomUUID();
  const row = await sealLead(db.sql, team, { step: { gclid: `gclid-${stamp}` } });
  await settle("COMPLETED", 1);
  await change(db.sql, { team }, "cancel_sale", { id: row.saleId }, { at: minutesLater(2) });
  await settle("RETRY", 3);
  const [retraction] = await retractionsOf(row.saleId);
  await act(db.sql, { action: "MARK_FAILED", ids: [retraction?.id], reason: "Leave it" }, { team, at: minutesLater(4) });
  return { ...row, gclid: `gclid-${stamp}` };
}
type Kept = Awaited<ReturnType<typeof cancelledButKept>>;

const external = (gclid: string) => ({
  externalRef: `till-${randomUUID()}`,
  occurredAt: minutesLater(4).toISOString(),
  amountCents: 77_000,
  gclid,
  marketingConsent: true,
});
async function draft(gclid: string, key = keyId): Promise<string> {
  const [row] = await db.sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${minutesLater(5).toISOString()}, true)`;
    return tx`select (public.record_external_sale(${key}, ${tx.json(external(gclid))}, ${hash}) ->> 'body')::jsonb ->> 'sale_id' as id`;
  });
  return String(row?.id);
}
const at = minutesLater(6);

/** Every way in which a second sale of the lead comes to life. Each gives its id. */
const ways: Record<string, (kept: Kept) => Promise<string>> = {
  "a seal of the lead, without a draft": async ({ callId }) =>
    String((await change(db.sql, { team }, "seal_call", { id: callId, amountCents: 77_000 }, { at })).body.saleId),
  "a seal of the lead that has a draft": async ({ callId, gclid }) => {
    const saleId = await draft(gclid);
    expect((await change(db.sql, { team }, "seal_call", { id: callId }, { at })).body.saleId).toBe(saleId);
    return saleId;
  },
  "an operator's confirmation of the draft": async ({ gclid }) => {
    const id = await draft(gclid);
    await callAs(db.sql, team.operator, (tx) => tx`select public.confirm_sale(${team.publicId}, ${tx.json({ id })}, ${hash})`, at);
    return id;
  },
  "the till's own confirmation of the draft": async ({ gclid }) => {
    const id = await draft(gclid);
    const args = { p_key_id: keyId, p_confirm: { id }, p_request_hash: hash };
    await service(db.sql, "confirm_sale_and_enqueue", args, at);
    return id;
  },
  "an import that seals": async ({ gclid }) => {
    const rows = [{ line: 1, ...external(gclid) }];
    const [line] = await callAs<{ saleId: string; result: string }[]>(
      db.sql,
      team.operator,
      (tx) => tx`select public.import_sales(${team.publicId}, ${tx.json(rows)}, true)`,
      at,
    );
    expect(line?.result).toBe("sealed");
    return String(line?.saleId);
  },
};

// Guarantee: a lead counts once at Google, whichever way its second sale came.
// Mutation that breaks it: call retract_after_all only where seal_sale makes a new sale.
describe("a retraction that was given up is tried again after", () => {
  test.each(Object.entries(ways))("%s", async (_name, seal) => {
    const kept = await cancelledButKept();
    const second = await seal(kept);
    expect(second).not.toBe(kept.saleId);
    expect(await retractionsOf(kept.saleId)).toMatchObject([{ status: "QUEUED" }]);
    // First the one that must go, then the one that follows it: sent together, both might count.
    expect(await settle("COMPLETED", 30)).toEqual([["RETRACT", await orderOf(kept.saleId)]]);
    expect(await settle("COMPLETED", 31)).toEqual([["CONVERSION", await orderOf(second)]]);
  });

  test("a sale from elsewhere that found the call taken, and lives on when the desk's sale is cancelled", async () => {
    const row = await sealLead(db.sql, team, { step: { gclid: "gclid-taken-by-the-desk" } });
    await settle("COMPLETED", 1);
    const second = await draft("gclid-taken-by-the-desk"); // no call of its own: the desk's sale has it
    await change(db.sql, { team }, "cancel_sale", { id: row.saleId }, { at: minutesLater(6) });
    const [retraction] = await retractionsOf(row.saleId);
    await act(db.sql, { action: "MARK_FAILED", ids: [retraction?.id] }, { team, at: minutesLater(7) });
    await callAs(
      db.sql,
      team.operator,
      (tx) => tx`select public.confirm_sale(${team.publicId}, ${tx.json({ id: second })}, ${hash})`,
      minutesLater(8),
    );
    expect(await retractionsOf(row.saleId)).toMatchObject([{ status: "QUEUED" }]);
    await settle("COMPLETED", 30);
    await settle("COMPLETED", 31);
  });
});

// Guarantee: a retraction whose lead has another sale by now is not given up, by whichever door. Mutation: leave is_followed out.
test("a retraction that is needed because another sale follows cannot be given up", async () => {
  const kept = await cancelledButKept();
  await Object.values(ways)[0]?.(kept);
  const [retraction] = await retractionsOf(kept.saleId);
  const id = String(retraction?.id);
  const acted = await act(db.sql, { action: "MARK_FAILED", ids: [id] }, { team, at: minutesLater(20) });
  expect(acted.body).toMatchObject({ affected: 0, skipped: [{ id, reason: "ILLEGAL_MOVE" }] });
  expect(await moveConversion(db.sql, team, { id, to: "FAILED" }, minutesLater(20))).toMatchObject({ status: 409 });
  expect(await retractionsOf(kept.saleId)).toMatchObject([{ status: "QUEUED" }]);
  await settle("COMPLETED", 30);
  await settle("COMPLETED", 31);
});

// Mutation that breaks it: ask is_followed of MARK_FAILED alone in judge_queue_rows.
test("nor is it given up by taking back the retry that opened it", async () => {
  const kept = await cancelledButKept();
  const [retraction] = await retractionsOf(kept.saleId);
  const id = String(retraction?.id);
  const retried = await act(db.sql, { action: "RETRY_SELECTED", ids: [id] }, { team, at: minutesLater(5) });
  await change(db.sql, { team }, "seal_call", { id: kept.callId, amountCents: 77_000 }, { at: minutesLater(6) });
  const undone = await undo(db.sql, retried.body.actionId, { team, at: minutesLater(7) });
  expect(undone.body).toMatchObject({ affected: 0, skipped: [{ id, reason: "ILLEGAL_MOVE" }] });
  expect(await retractionsOf(kept.saleId)).toMatchObject([{ status: "QUEUED" }]);
  await settle("COMPLETED", 30);
  await settle("COMPLETED", 31);
});

test("a sale that comes back itself does not take up its own retraction", async () => {
  const row = await sealLead(db.sql, team);
  await settle("COMPLETED", 1);
  await change(db.sql, { team }, "cancel_sale", { id: row.saleId }, { at: minutesLater(2) });
  const [retraction] = await retractionsOf(row.saleId);
  await act(db.sql, { action: "MARK_FAILED", ids: [retraction?.id] }, { team, at: minutesLater(3) }); // before anybody was handed it
  const again = await change(db.sql, { team }, "seal_call", { id: row.callId }, { at: minutesLater(4) });
  expect(again.body.saleId).toBe(row.saleId);
  expect(await retractionsOf(row.saleId)).toMatchObject([{ status: "FAILED" }]);
  expect(await settle("COMPLETED", 30)).toEqual([]);
});

test("after 54 days Google takes no retraction, and none is tried", async () => {
  const kept = await cancelledButKept();
  const late = minutesLater(54 * 24 * 60);
  await change(db.sql, { team }, "seal_call", { id: kept.callId, amountCents: 77_000 }, { at: late });
  expect(await retractionsOf(kept.saleId)).toMatchObject([{ status: "FAILED" }]);
});

// Guarantee: a lead never counts twice, also when Google could not be made to forget its first sale. The second one waits for a person.
// Mutations that break it: drop held_sales from sendable_queue, from the script's claim or from the export's page.
describe("the lead's next sale", () => {
  const rowOf = async (saleId: string): Promise<string> => {
    const [row] = await db.sql`select id from public.offline_conversion_queue where sale_id = ${saleId} and kind = 'CONVERSION'`;
    return String(row?.id);
  };
  const heldBy = async (of: Team, id: string, minute: number) => {
    const { rows } = await listRows(db.sql, of, { q: id }, { at: minutesLater(minute) });
    return { heldBy: rows[0]?.heldBy, waitsFor: rows[0]?.waitsFor };
  };
  const done = (of: Team, id: string, minute: number) =>
    callAs(
      db.sql,
      of.operator,
      (tx) => tx`select public.complete_adjustment_by_hand(${of.publicId}, ${tx.json({ id, valueCents: 0 })})`,
      minutesLater(minute),
    );
  /** The first sale's retraction and the row of the sale that follows, sealed while the retraction waits. */
  async function followed() {
    const kept = await cancelledButKept();
    const second = String((await change(db.sql, { team }, "seal_call", { id: kept.callId, amountCents: 77_000 }, { at })).body.saleId);
    const [retraction] = await retractionsOf(kept.saleId);
    return { kept, second, retractionId: String(retraction?.id), rowId: await rowOf(second) };
  }
  const kinds = async (outcome: string, minute: number) => (await settle(outcome, minute)).map(([kind]) => kind);

  test("is held while the retraction waits or fails, says by what, and is released by its success", async () => {
    const { kept, retractionId, rowId } = await followed();
    const held = { heldBy: { saleId: kept.saleId, rowId: retractionId }, waitsFor: "RETRACTION" };
    expect(await heldBy(team, rowId, 10)).toEqual(held);
    for (let n = 1; n <= 5; n++) expect(await kinds("RETRY", n * 100)).toEqual(["RETRACT"]);
    expect(await retractionsOf(kept.saleId)).toMatchObject([{ status: "FAILED" }]);
    expect(await kinds("COMPLETED", 600)).toEqual([]);
    expect(await heldBy(team, rowId, 600)).toEqual(held);
    await act(db.sql, { action: "RETRY_SELECTED", ids: [retractionId] }, { team, at: minutesLater(601) });
    expect(await kinds("COMPLETED", 602)).toEqual(["RETRACT"]);
    expect(await heldBy(team, rowId, 603)).toEqual({ heldBy: null, waitsFor: null });
    expect(await kinds("COMPLETED", 603)).toEqual(["CONVERSION"]);
  });

  test.each([
    ["used up its attempts", 600],
    ["is too late for Google", 54 * 24 * 60],
  ])("is released by a person when the retraction %s", async (_how, minute) => {
    const { retractionId } = await followed();
    for (let n = 1; n <= 5; n++) await settle("RETRY", n * 100);
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(minute));
    expect(await kinds("COMPLETED", minute)).toEqual([]);
    await done(team, retractionId, minute + 1);
    expect(await kinds("COMPLETED", minute + 2)).toEqual(["CONVERSION"]);
  });

  // Mutation that breaks it: drop the row in flight from held_sales.
  test("is held while nobody knows whether the first one arrived", async () => {
    const gclid = `gclid-${randomUUID()}`;
    const first = await sealLead(db.sql, team, { step: { gclid } });
    const claimed = await claimForWorker(db.sql, team, { at: minutesLater(1) });
    await change(db.sql, { team }, "cancel_sale", { id: first.saleId }, { at: minutesLater(2) });
    const second = await draft(gclid);
    await change(db.sql, { team }, "seal_call", { id: first.callId }, { at });
    expect((await heldBy(team, await rowOf(second), 7)).heldBy).toEqual({ saleId: first.saleId, rowId: first.id });
    expect((await claimForWorker(db.sql, team, { at: minutesLater(8) })).rows).toEqual([]);
    const p_results = [{ id: first.id, outcome: "COMPLETED", transport: "ads_api" }];
    const args = { p_site_id: team.siteId, p_token: claimed.token, p_results };
    await service(db.sql, "settle_offline_conversion_jobs", args, minutesLater(9));
    expect(await kinds("COMPLETED", 10)).toEqual(["RETRACT"]);
    expect(await kinds("COMPLETED", 11)).toEqual(["CONVERSION"]);
  });

  test("is not handed to a script either, until a person has taken the first one back", async () => {
    const script = await createQueueTeam(db.sql, "followed-script", team.owner);
    const { id } = await callAs<{ id: string }>(
      db.sql,
      team.owner,
      (tx) => tx`select public.create_site_api_key(${script.publicId}, 'Till', '{sales}')`,
    );
    const gclid = `gclid-${randomUUID()}`;
    const first = await sealLead(db.sql, script, { step: { gclid } });
    await claimForScript(db.sql, script, [first.id], minutesLater(1));
    await service(db.sql, "ack_offline_conversions", { p_site_id: script.siteId, p_ids: [first.id] }, minutesLater(2));
    await change(db.sql, { team: script }, "cancel_sale", { id: first.saleId }, { at: minutesLater(3) });
    const second = await draft(gclid, id);
    await change(db.sql, { team: script }, "seal_call", { id: first.callId }, { at });
    const rowId = await rowOf(second);
    const page = async () => {
      const args = { p_site_id: script.siteId, p_max_attempts: 5 };
      const { seals } = await service<{ seals: { id: string }[] }>(db.sql, "get_export_page", args, minutesLater(10));
      return seals.map((seal) => seal.id);
    };
    expect(await page()).toEqual([]);
    expect((await claimForScript(db.sql, script, [rowId], minutesLater(10))).rows).toEqual([]);
    const [retraction] = await retractionsOf(first.saleId);
    await done(script, String(retraction?.id), 11);
    expect(await page()).toEqual([rowId]);
    expect((await claimForScript(db.sql, script, [rowId], minutesLater(12))).rows).toMatchObject([{ id: rowId }]);
  });
});
