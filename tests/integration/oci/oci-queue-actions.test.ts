import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForScript, minutesLater, moveConversion, readRow, type Sealed, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { act } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createQueueTeam(db.sql, "actions");
});
afterAll(() => db.drop());

const claim = (row: Sealed, minute: number) => claimForScript(db.sql, team, [row.id], minutesLater(minute));
const fail = (row: Sealed, minute: number, category = "TRANSIENT") =>
  service(
    db.sql,
    "fail_offline_conversions",
    { p_site_id: team.siteUuid, p_ids: [row.id], p_code: "APPLY_FAILED", p_category: category, p_message: "apply() threw" },
    minutesLater(minute),
  );
const errorsOf = async ({ id }: Sealed) => {
  const { last_error, provider_error_code, provider_error_category } = await readRow(db.sql, id);
  return [last_error, provider_error_code, provider_error_category];
};

async function failedRow(): Promise<Sealed> {
  const row = await sealLead(db.sql, team);
  await claim(row, 1);
  await fail(row, 2);
  return row;
}

describe("RETRY_SELECTED", () => {
  // Guarantee: a row that is queued again looks like one that nobody holds, and still says what went wrong.
  test("clears the claim and the waiting time and keeps the error", async () => {
    const row = await failedRow();
    expect((await readRow(db.sql, row.id)).next_retry_at).not.toBe(null);
    expect((await moveConversion(db.sql, team, { id: row.id, to: "QUEUED" }, minutesLater(3))).status).toBe(200);
    expect(await readRow(db.sql, row.id)).toMatchObject({
      status: "QUEUED",
      claimed_at: null,
      claim_token: null,
      next_retry_at: null,
      updated_at: minutesLater(3),
    });
    expect(await errorsOf(row)).toEqual(["apply() threw", "APPLY_FAILED", "TRANSIENT"]);
  });
});

describe("RESET_TO_QUEUED", () => {
  test.each([
    [undefined, ["apply() threw", "APPLY_FAILED", "TRANSIENT"]],
    [false, ["apply() threw", "APPLY_FAILED", "TRANSIENT"]],
    [true, [null, null, null]],
  ])("with clearErrors %s leaves %j", async (clearErrors, errors) => {
    const row = await failedRow();
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(30));
    await claim(row, 31);
    expect((await readRow(db.sql, row.id)).status).toBe("PROCESSING");
    const reset = { action: "RESET_TO_QUEUED", ids: [row.id], ...(clearErrors !== undefined && { clearErrors }) } as const;
    expect((await act(db.sql, reset, { team, at: minutesLater(32) })).body).toMatchObject({ ok: true, affected: 1 });
    expect(await readRow(db.sql, row.id)).toMatchObject({ status: "QUEUED", claimed_at: null, claim_token: null, next_retry_at: null });
    expect(await errorsOf(row)).toEqual(errors);
  });

  test("never touches a COMPLETED row", async () => {
    const row = await sealLead(db.sql, team);
    await claim(row, 1);
    await service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: [row.id] }, minutesLater(2));
    const before = await readRow(db.sql, row.id);
    for (const to of ["QUEUED", "FAILED"] as const)
      expect(await moveConversion(db.sql, team, { id: row.id, to }, minutesLater(3))).toMatchObject({
        status: 409,
        body: { code: "ILLEGAL_MOVE" },
      });
    expect(await readRow(db.sql, row.id)).toEqual(before);
  });
});

describe("MARK_FAILED", () => {
  test("without a reason says MANUAL_FAIL, PERMANENT and MANUALLY_MARKED_FAILED, for good", async () => {
    const row = await sealLead(db.sql, team);
    await moveConversion(db.sql, team, { id: row.id, to: "FAILED" }, minutesLater(1));
    expect(await errorsOf(row)).toEqual(["MANUALLY_MARKED_FAILED", "MANUAL_FAIL", "PERMANENT"]);
    expect((await readRow(db.sql, row.id)).next_retry_at).toBe(null);
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(600));
    expect((await readRow(db.sql, row.id)).status).toBe("FAILED");
  });

  test("keeps what it is given", async () => {
    const row = await sealLead(db.sql, team);
    const given = { reason: "Wrong number", errorCode: "NOT_OURS", errorCategory: "VALIDATION" };
    await act(db.sql, { action: "MARK_FAILED", ids: [row.id], ...given }, { team, at: minutesLater(1) });
    expect(await errorsOf(row)).toEqual(["Wrong number", "NOT_OURS", "VALIDATION"]);
  });
});

// Guarantee: what an operator queues again is really tried again; the cap counts from their decision on.
// Mutation that breaks it: count attempt_count instead of attempt_count - attempt_base in oci_attempt_cap or in the claim.
test("a capped row that an operator retries is not capped again, and is delivered", async () => {
  const row = await sealLead(db.sql, team);
  for (let attempt = 1; attempt <= 5; attempt++) {
    expect((await claim(row, attempt * 100)).rows).toHaveLength(1);
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(attempt * 100 + 20));
  }
  await service(db.sql, "oci_attempt_cap", {}, minutesLater(600));
  expect(await readRow(db.sql, row.id)).toMatchObject({ status: "FAILED", provider_error_code: "MAX_ATTEMPTS", attempt_count: 5 });
  await moveConversion(db.sql, team, { id: row.id, to: "QUEUED" }, minutesLater(601));
  await service(db.sql, "oci_attempt_cap", {}, minutesLater(602));
  expect((await readRow(db.sql, row.id)).status).toBe("QUEUED");
  expect((await claim(row, 603)).rows).toMatchObject([{ id: row.id, attemptCount: 6 }]);
  await service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: [row.id] }, minutesLater(604));
  expect((await readRow(db.sql, row.id)).status).toBe("COMPLETED");
});

test("a person who corrected a conversion in Google Ads says so once, with the value that they entered", async () => {
  const row = await sealLead(db.sql, team);
  await claim(row, 1);
  await service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: [row.id] }, minutesLater(2));
  await change(db.sql, { team }, "correct_sale", { id: row.saleId, amountCents: 500_000 }, { at: minutesLater(3) });
  const [adjustment] =
    await db.sql`select id, kind, status from public.offline_conversion_queue where sale_id = ${row.saleId} and kind = 'RESTATE'`;
  expect(adjustment).toMatchObject({ status: "QUEUED" });
  expect((await claimForScript(db.sql, team, [String(adjustment?.id)], minutesLater(20))).rows).toEqual([]);
  const done = (valueCents: number) =>
    callAs(
      db.sql,
      team.operator,
      (tx) => tx`select public.complete_adjustment_by_hand(${team.siteId}, ${tx.json({ id: adjustment?.id, valueCents })})`,
      minutesLater(30),
    );
  await expect(done(425_000)).rejects.toMatchObject({ message: "STALE_VERSION" });
  expect(await done(500_000)).toMatchObject({ ok: true });
  expect(await done(500_000)).toEqual({ ok: true });
  const told =
    await db.sql`select kind, transport, value_cents::int as value from public.provider_dispatches where sale_id = ${row.saleId} order by id`;
  expect(told.map((each) => ({ ...each }))).toEqual([
    { kind: "CONVERSION", transport: "script", value: 425_000 },
    { kind: "RESTATE", transport: "by_hand", value: 500_000 },
  ]);
});
