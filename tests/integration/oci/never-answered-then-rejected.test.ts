import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { actionOf, connectApi, defaultNames } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForWorker, minutesLater, type Sealed, sealLead, settleClaim, type WorkerClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import type { Person, Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { recordVerdict } from "#tests/support/verdicts.ts";

let db: TestDatabase;
let owner: Person;
beforeAll(async () => {
  db = await createTestDatabase();
  owner = (await createApiTeam(db.sql, "first")).owner;
});
afterAll(() => db.drop());

let made = 0;
/** A sealed conversion in a worker's hands at minute 1. */
async function inFlight(): Promise<{ team: Team; sealed: Sealed; claim: WorkerClaim }> {
  const team = await createApiTeam(db.sql, `site-${++made}`, owner);
  const sealed = await sealLead(db.sql, team);
  return { team, sealed, claim: await claimForWorker(db.sql, team, { at: minutesLater(1) }) };
}

const recover = (minute: number) => service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(minute));
const cancel = (team: Team, { saleId }: Sealed, minute: number) =>
  change(db.sql, { team }, "cancel_sale", { id: saleId }, { at: minutesLater(minute) });
const withdraw = (team: Team, { callId }: Sealed, minute: number) =>
  db.sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${minutesLater(minute).toISOString()}, true)`;
    await tx`select public.record_consent(site_id, jsonb_build_object('visitor', visitor_id, 'scopes', '[]'::jsonb, 'ageMs', 0))
      from public.calls where id = ${callId} and site_id = ${team.siteUuid}`;
  });
const dispatchesOf = ({ saleId }: Sealed) =>
  db.sql`select kind, transport, value_cents::int, verdict, verdict_reason from public.provider_dispatches where sale_id = ${saleId} order by id`;
const openRows = ({ saleId }: Sealed) =>
  db.sql`select id, kind, status from public.offline_conversion_queue where sale_id = ${saleId} and status in ('QUEUED', 'RETRY', 'PROCESSING')`;
const assumed = {
  kind: "CONVERSION",
  transport: "data_manager",
  value_cents: 425_000,
  verdict: "UNKNOWN",
  verdict_reason: "NEVER_ANSWERED",
};
const days = (count: number) => count * 1440;

describe("a hand-out that nobody answered, and a later one that Google rejected", () => {
  /** The answer to the second hand-out is on its way at minute 22. */
  async function sentTwice(): Promise<{ team: Team; sealed: Sealed; first: WorkerClaim }> {
    const { team, sealed, claim: first } = await inFlight();
    await recover(20); // Google took it, and the worker died
    await complete(team, sealed, await claimForWorker(db.sql, team, { at: minutesLater(21) }));
    return { team, sealed, first };
  }
  const complete = (team: Team, { saleId }: Sealed, claim: WorkerClaim) =>
    settleClaim(
      db.sql,
      team,
      claim,
      { outcome: "COMPLETED", requestId: saleId, recordIndex: 0 },
      { at: minutesLater(22), batch: { outcome: "success" } },
    );
  const reject = (team: Team, { saleId }: Sealed, retryable = true) =>
    recordVerdict(db.sql, team, saleId, "REJECTED", minutesLater(60), { reason: "INTERNAL_ERROR", retryable });
  const rejected = { ...assumed, verdict: "REJECTED", verdict_reason: "INTERNAL_ERROR" };

  // Guarantee: a rejection of the one says nothing of the other. No cancelled sale counts at Google for ever because of it.
  // Mutation that breaks it: assume_arrival without COMPLETED rows.
  test.each([
    ["waits to be sent again", true],
    ["is not sent again", false],
  ])("is taken back when the sale is cancelled while it %s", async (_name, retryable) => {
    const { team, sealed } = await sentTwice();
    await reject(team, sealed, retryable);
    await cancel(team, sealed, 61);
    expect(await dispatchesOf(sealed)).toEqual([rejected, assumed]);
    expect((await claimForWorker(db.sql, team, { at: minutesLater(days(3)) })).rows).toMatchObject([{ kind: "RETRACT" }]);
  });

  // Guarantee: one sale is one conversion, under the action where the first hand-out may be.
  // Mutation that breaks it: enqueue without what it remembers.
  test("keeps its action when it is sent again, and counts its values", async () => {
    const { team, sealed } = await sentTwice();
    await reject(team, sealed);
    await connectApi(db.sql, team, { actions: [{ conversionName: defaultNames.seal, action: actionOf(77) }], at: minutesLater(61) });
    await change(db.sql, { team }, "correct_sale", { id: sealed.saleId, amountCents: 500_000 }, { at: minutesLater(62) });
    const claim = await claimForWorker(db.sql, team, { at: minutesLater(300) });
    expect(claim.rows).toMatchObject([{ kind: "CONVERSION", conversionAction: actionOf(1), valueCents: 500_000 }]);
    await settleClaim(db.sql, team, claim, { outcome: "COMPLETED", transport: "ads_api" }, { at: minutesLater(301) });
    expect(await openRows(sealed)).toMatchObject([{ kind: "RESTATE" }]); // Google may have kept the first value
  });

  // Mutation that breaks it: enqueue without handed_values_differ.
  test("is corrected after it was sent again, when its hand-outs had different values", async () => {
    const { team, sealed } = await inFlight();
    await recover(20);
    await change(db.sql, { team }, "correct_sale", { id: sealed.saleId, amountCents: 500_000 }, { at: minutesLater(21) });
    await complete(team, sealed, await claimForWorker(db.sql, team, { at: minutesLater(21) }));
    await reject(team, sealed);
    const claim = await claimForWorker(db.sql, team, { at: minutesLater(300) });
    expect(claim.rows).toMatchObject([{ kind: "CONVERSION", valueCents: 500_000 }]);
    await settleClaim(db.sql, team, claim, { outcome: "COMPLETED", verdict: "CONFIRMED" }, { at: minutesLater(301) });
    expect(await openRows(sealed)).toMatchObject([{ kind: "RESTATE" }]);
  });

  // Mutation that breaks it: let the row that is queued again take may_have_arrived from the one before it.
  test("is taken back when the one that was sent again is rejected, too", async () => {
    const { team, sealed } = await sentTwice();
    await reject(team, sealed);
    const claim = await claimForWorker(db.sql, team, { at: minutesLater(300) });
    const again = { outcome: "COMPLETED", requestId: `${sealed.saleId}-2`, recordIndex: 0 } as const;
    await settleClaim(db.sql, team, claim, again, { at: minutesLater(301), batch: { outcome: "success" } });
    await recordVerdict(db.sql, team, `${sealed.saleId}-2`, "REJECTED", minutesLater(400), { reason: "INVALID_CLICK" });
    await cancel(team, sealed, 401);
    expect((await claimForWorker(db.sql, team, { at: minutesLater(days(3)) })).rows).toMatchObject([{ kind: "RETRACT" }]);
  });

  test.each([
    ["before the verdict", true],
    ["after the verdict", false],
  ])("can still be corrected when consent is withdrawn %s", async (_name, isBefore) => {
    const { team, sealed } = await sentTwice();
    if (isBefore) await withdraw(team, sealed, 23);
    await reject(team, sealed);
    if (!isBefore) await withdraw(team, sealed, 61);
    expect(await dispatchesOf(sealed)).toEqual([rejected, assumed]);
    expect(await openRows(sealed)).toEqual([]);
    await change(db.sql, { team }, "correct_sale", { id: sealed.saleId, amountCents: 500_000 }, { at: minutesLater(62) });
    expect((await claimForWorker(db.sql, team, { at: minutesLater(days(3)) })).rows).toMatchObject([{ kind: "RESTATE", gclid: null }]);
  });

  // Guarantee: what Google rejected and was sent only once is not looked for, and may go to another account.
  // Mutation that breaks it: keep may_have_arrived when the only hand-out is answered after all.
  test("but one whose only hand-out was answered late, with a rejection, is not there", async () => {
    const { team, sealed, claim } = await inFlight();
    await recover(20);
    await complete(team, sealed, claim);
    await reject(team, sealed);
    await cancel(team, sealed, 61);
    expect(await dispatchesOf(sealed)).toEqual([rejected]);
    expect(await openRows(sealed)).toEqual([]);
  });

  test("is taken back when the late answer to the first one was the rejection, and the second is in flight", async () => {
    const { team, sealed, claim } = await inFlight();
    await recover(20);
    expect((await claimForWorker(db.sql, team, { at: minutesLater(21) })).rows).toHaveLength(1);
    await complete(team, sealed, claim);
    await reject(team, sealed, false);
    await cancel(team, sealed, 61);
    expect(await dispatchesOf(sealed)).toEqual([rejected, assumed]);
  });
});
