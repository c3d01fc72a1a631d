import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { connectApi } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import {
  claimForWorker,
  minutesLater,
  moveConversion,
  readRow,
  type Sealed,
  sealLead,
  settleClaim,
  type WorkerClaim,
} from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import type { Person, Team } from "#tests/fixtures/team.ts";
import { act, undo } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

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

describe("a cancelled sale that Google may have is taken back", () => {
  // Guarantee: no sale counts at Google for ever because its worker died at the wrong moment.
  // Mutations that break it: drop assume_arrival from follow_ledger; drop may_have_arrived from recovery, end_claims, cap or MARK_FAILED.
  const endings: [string, (given: Awaited<ReturnType<typeof inFlight>>) => Promise<unknown>][] = [
    ["its worker died, then it was cancelled", async ({ team, sealed }) => [await recover(20), await cancel(team, sealed, 21)]],
    ["it was cancelled while its worker was dying", async ({ team, sealed }) => [await cancel(team, sealed, 2), await recover(20)]],
    [
      "the call to Google failed without an answer",
      async ({ team, sealed, claim }) => [
        await settleClaim(db.sql, team, claim, { outcome: "RETRY", category: "TRANSIENT" }, { at: minutesLater(2) }),
        await cancel(team, sealed, 3),
      ],
    ],
    [
      "Google could not be reached, at no cost",
      async ({ team, sealed, claim }) => [
        await settleClaim(db.sql, team, claim, { outcome: "RETRY", category: "TRANSIENT", free: true }, { at: minutesLater(2) }),
        await cancel(team, sealed, 3),
      ],
    ],
    [
      "its last attempt was never answered",
      async ({ team, sealed }) => [
        await cancel(team, sealed, 2),
        await service(db.sql, "oci_attempt_cap", { p_max_attempts: 1 }, minutesLater(20)),
      ],
    ],
    [
      "a machine gave it up in flight",
      async ({ team, sealed }) => [
        await cancel(team, sealed, 2),
        await moveConversion(db.sql, team, { id: sealed.id, to: "FAILED" }, minutesLater(3)),
      ],
    ],
    [
      "an operator gave it up in flight",
      async ({ team, sealed }) => [
        await cancel(team, sealed, 2),
        await act(db.sql, { action: "MARK_FAILED", ids: [sealed.id] }, { team, at: minutesLater(3) }),
      ],
    ],
  ];
  test.each(endings)("when %s", async (_name, end) => {
    const given = await inFlight();
    await end(given);
    expect(await dispatchesOf(given.sealed)).toEqual([assumed]);
    const claim = await claimForWorker(db.sql, given.team, { at: minutesLater(30) });
    expect(claim.rows).toMatchObject([{ kind: "RETRACT", via: "ads_api", valueCents: 0 }]);
    await settleClaim(db.sql, given.team, claim, { outcome: "COMPLETED" }, { at: minutesLater(31) });
    expect(await openRows(given.sealed)).toEqual([]);
  });

  test("but not one that Google refused, or asked to wait with", async () => {
    for (const answer of [
      { outcome: "FAILED", category: "VALIDATION", code: "INVALID_GCLID" },
      { outcome: "RETRY", category: "RATE_LIMIT", code: "RATE_LIMIT" },
    ] as const) {
      const { team, sealed, claim } = await inFlight();
      await settleClaim(db.sql, team, claim, answer, { at: minutesLater(2) });
      await cancel(team, sealed, 3);
      expect(await dispatchesOf(sealed)).toEqual([]);
      expect(await openRows(sealed)).toEqual([]);
    }
  });

  // Guarantee: the lead's next sale waits for it, and not for ever.
  // Mutation that breaks it: leave the dispatch UNKNOWN when Google has looked for it for a day.
  test("and when Google does not find it for a day, nobody has to do anything", async () => {
    const { team, sealed } = await inFlight();
    await recover(20);
    await cancel(team, sealed, 21);
    const again = await change(db.sql, { team }, "seal_call", { id: sealed.callId, amountCents: 100_000 }, { at: minutesLater(22) });
    const notFound = { outcome: "RETRY", category: "TRANSIENT", code: "CONVERSION_NOT_FOUND" } as const;
    expect(again.body.saleId).toBe(sealed.saleId); // nothing was taken back yet: it is the same sale again
    await cancel(team, sealed, 23);
    const first = await claimForWorker(db.sql, team, { at: minutesLater(30) });
    await settleClaim(db.sql, team, first, notFound, { at: minutesLater(31) });
    const next = await change(db.sql, { team }, "seal_call", { id: sealed.callId, amountCents: 100_000 }, { at: minutesLater(32) });
    expect(next.body.saleId).not.toBe(sealed.saleId);
    for (let attempt = 1; attempt <= 4; attempt++) {
      const claim = await claimForWorker(db.sql, team, { at: minutesLater(days(attempt)) });
      expect(claim.rows.map(({ kind }) => kind)).toEqual(["RETRACT"]); // the next sale is held
      await settleClaim(db.sql, team, claim, notFound, { at: minutesLater(days(attempt) + 1) });
    }
    expect(await dispatchesOf(sealed)).toEqual([{ ...assumed, verdict: "REJECTED", verdict_reason: "CONVERSION_NOT_FOUND" }]);
    expect(await readRow(db.sql, String(first.rows[0]?.id))).toMatchObject({
      status: "FAILED",
      provider_error_code: "NEVER_ARRIVED",
      provider_error_category: "DETERMINISTIC_SKIP",
    });
    expect((await claimForWorker(db.sql, team, { at: minutesLater(days(5)) })).rows).toMatchObject([
      { kind: "CONVERSION", saleId: next.body.saleId },
    ]);
  });

  // Guarantee: an answer that began before the cancellation and waited for it is still the newest that is known of the sale.
  // Mutation that breaks it: let deliver_rows date what it delivers by its own transaction alone.
  test.each(["correct", "restore"])("and what its late answer says counts for a later change: %s", async (how) => {
    const { team, sealed, claim } = await inFlight();
    await recover(20);
    await cancel(team, sealed, 21);
    await settleClaim(db.sql, team, claim, { outcome: "COMPLETED", verdict: "CONFIRMED" }, { at: minutesLater(20) });
    await change(
      db.sql,
      { team },
      "seal_call",
      { id: sealed.callId, amountCents: how === "restore" ? 300_000 : 425_000 },
      { at: minutesLater(22) },
    );
    if (how === "correct") {
      expect(await openRows(sealed)).toEqual([]);
      await change(db.sql, { team }, "correct_sale", { id: sealed.saleId, amountCents: 300_000 }, { at: minutesLater(23) });
    }
    expect(await openRows(sealed)).toMatchObject([{ kind: "RESTATE" }]);
  });

  // Guarantee: one that only may be there is sent again with its own order id, on the site's own way.
  // Mutation that breaks it: let sendable_queue give a conversion the way of an adjustment.
  test("and sent again when it comes back before that", async () => {
    const { team, sealed } = await inFlight();
    await recover(20);
    await cancel(team, sealed, 21);
    await change(db.sql, { team }, "seal_call", { id: sealed.callId, amountCents: 300_000 }, { at: minutesLater(22) });
    const claim = await claimForWorker(db.sql, team, { at: minutesLater(30) });
    expect(claim.rows).toMatchObject([{ id: sealed.id, kind: "CONVERSION", via: "data_manager", valueCents: 300_000 }]);
    await settleClaim(db.sql, team, claim, { outcome: "COMPLETED", verdict: "CONFIRMED" }, { at: minutesLater(31) });
    expect(await openRows(sealed)).toMatchObject([{ kind: "RESTATE" }]); // Google may have kept the first value
  });
});

// Guarantee: what Data Manager still has to process does not overwrite a correction that came later over the other API.
// Mutation that breaks it: queue the second correction at once.
test("a value that may have gone over both APIs is corrected once more when both have settled", async () => {
  const { team, sealed } = await inFlight();
  await recover(20);
  await connectApi(db.sql, team, { transport: "ads_api", at: minutesLater(21) });
  await change(db.sql, { team }, "correct_sale", { id: sealed.saleId, amountCents: 500_000 }, { at: minutesLater(22) });
  const claim = await claimForWorker(db.sql, team, { at: minutesLater(23) });
  expect(claim.rows).toMatchObject([{ kind: "CONVERSION", via: "ads_api", valueCents: 500_000 }]);
  await settleClaim(db.sql, team, claim, { outcome: "COMPLETED" }, { at: minutesLater(24) });
  expect(await openRows(sealed)).toMatchObject([{ kind: "RESTATE" }]);
  expect((await claimForWorker(db.sql, team, { at: minutesLater(days(1)) })).rows).toEqual([]);
  expect((await claimForWorker(db.sql, team, { at: minutesLater(days(1) + 30) })).rows).toMatchObject([
    { kind: "RESTATE", via: "ads_api", valueCents: 500_000 },
  ]);
});

describe("after consent is withdrawn", () => {
  // Guarantee: what may be at Google is corrected by its order id alone; nothing about the customer is sent.
  test("a sale whose hand-out nobody answered can still be corrected, and is not sent again", async () => {
    const { team, sealed } = await inFlight();
    await withdraw(team, sealed, 2);
    await recover(20);
    expect(await dispatchesOf(sealed)).toEqual([assumed]);
    expect(await openRows(sealed)).toEqual([]);
    await change(db.sql, { team }, "correct_sale", { id: sealed.saleId, amountCents: 500_000 }, { at: minutesLater(21) });
    const claim = await claimForWorker(db.sql, team, { at: minutesLater(30) });
    expect(claim.rows).toMatchObject([{ kind: "RESTATE", via: "ads_api", gclid: null, customerHash: null, valueCents: 500_000 }]);
    const retried = await act(db.sql, { action: "RETRY_SELECTED", ids: [sealed.id] }, { team, at: minutesLater(31) });
    expect(retried.body).toMatchObject({ affected: 0, skipped: [{ reason: "ILLEGAL_MOVE" }] });
  });

  // Guarantee: what can never be handed out again does not stand at the head of the site's queue for ever, before rows that can.
  // Mutation that breaks it: let may_send look at the block alone.
  test("a row that was given up in flight is not queued again, whoever asks", async () => {
    const { team, sealed } = await inFlight();
    const failed = await act(db.sql, { action: "MARK_FAILED", ids: [sealed.id] }, { team, at: minutesLater(2) });
    await withdraw(team, sealed, 3);
    expect(await dispatchesOf(sealed)).toEqual([assumed]);
    const retried = await act(db.sql, { action: "RETRY_SELECTED", ids: [sealed.id] }, { team, at: minutesLater(4) });
    expect(retried.body).toMatchObject({ affected: 0, skipped: [{ reason: "ILLEGAL_MOVE" }] });
    const undone = await undo(db.sql, String(failed.body.actionId), { team, at: minutesLater(4) });
    expect(undone.body).toMatchObject({ affected: 0 });
    const moved = await moveConversion(db.sql, team, { id: sealed.id, to: "QUEUED" }, minutesLater(4));
    expect(moved).toMatchObject({ status: 409, body: { code: "ILLEGAL_MOVE" } });
    const next = await sealLead(db.sql, team);
    expect((await claimForWorker(db.sql, team, { limit: 1, at: minutesLater(5) })).rows).toMatchObject([{ id: next.id }]);
  });

  // Guarantee: Data Manager refuses an event without a click or a person, so a correction would fail for good.
  // Mutation that breaks it: drop the click from adjustment_bases.
  test("a correction of what Data Manager confirmed goes over the Ads API", async () => {
    const { team, sealed, claim } = await inFlight();
    await settleClaim(db.sql, team, claim, { outcome: "COMPLETED", verdict: "CONFIRMED" }, { at: minutesLater(2) });
    await withdraw(team, sealed, 3);
    await change(db.sql, { team }, "correct_sale", { id: sealed.saleId, amountCents: 500_000 }, { at: minutesLater(4) });
    expect((await claimForWorker(db.sql, team, { at: minutesLater(5) })).rows).toMatchObject([{ kind: "RESTATE", via: "ads_api" }]);
  });

  test("a waiting row of a sale that may be there is closed", async () => {
    const { team, sealed } = await inFlight();
    await recover(20);
    await cancel(team, sealed, 21);
    const restore = { contract: "sale", id: sealed.saleId, to: "CONFIRMED" };
    await callAs(
      db.sql,
      team.operator,
      (tx) => tx`select public.transition_contract(${tx.json(restore)}, ${sealed.saleId}, ${"0".repeat(64)})`,
      minutesLater(22),
    );
    expect(await openRows(sealed)).toMatchObject([{ kind: "CONVERSION" }]);
    await withdraw(team, sealed, 23);
    expect(await openRows(sealed)).toEqual([]);
    expect(await readRow(db.sql, sealed.id)).toMatchObject({ status: "FAILED", provider_error_code: "NO_CONSENT" });
  });
});
