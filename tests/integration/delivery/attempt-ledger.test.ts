import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { connectApi } from "#tests/fixtures/connections.ts";
import { minutesLater } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { finishBatch, readHealth, startBatch } from "#tests/support/circuit.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let founder: Person;
let team: Team;
let number = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  founder = await createPerson(db.sql, "founder@ledger.test");
});
afterAll(() => db.drop());
beforeEach(async () => {
  number += 1;
  team = await createQueueTeam(db.sql, `ledger${number}`, founder, "api");
  await connectApi(db.sql, team);
});

const start = minutesLater(0);
const linesOf = (batch: string) => db.sql`select * from public.provider_upload_attempts where batch_id = ${batch} order by id`;
const metrics = async () => {
  const [row] = await db.sql`select attempts_total, completed_total, failed_total, retry_total
    from public.provider_upload_metrics where site_id = ${team.siteUuid}`;
  return row ? Object.values(row).map(Number) : null;
};
const sweep = (at: Date) =>
  db.sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${at.toISOString()}, true)`;
    const [row] = await tx`select private.end_dead_batches('15 minutes') as swept`;
    return row?.swept;
  });

// Guarantee: every attempt leaves two lines with what was claimed and what became of it.
test("a batch is one STARTED and one FINISHED line, and adds to the counters", async () => {
  const { token } = await startBatch(db.sql, team, start);
  expect(await linesOf(token)).toMatchObject([{ phase: "STARTED", claimed_count: 3, completed_count: null, site_id: team.siteUuid }]);
  const end = { outcome: "success", durationMs: 41, requestId: "req-1", quotaUntil: minutesLater(60).toISOString() } as const;
  expect(await finishBatch(db.sql, team, { token, credentials_version: 1 } as never, end, minutesLater(1))).toBe(true);
  expect(await linesOf(token)).toMatchObject([
    { phase: "STARTED" },
    {
      phase: "FINISHED",
      completed_count: 3,
      failed_count: 0,
      retry_count: 0,
      duration_ms: 41,
      provider_request_id: "req-1",
      claimed_count: null,
    },
  ]);
  expect(await metrics()).toEqual([3, 3, 0, 0]);
  expect(await readHealth(db.sql, team)).toMatchObject({ last_success_at: minutesLater(1), quota_until: minutesLater(60) });
});

// Guarantee: an answer that is written twice, after a lost connection, counts once.
test("finishing a batch again changes nothing", async () => {
  const batch = await startBatch(db.sql, team, start);
  await finishBatch(db.sql, team, batch, { outcome: "transient", errorCode: "UNAVAILABLE", errorCategory: "TRANSIENT" }, start);
  expect(await finishBatch(db.sql, team, batch, { outcome: "transient" }, start)).toBe(false);
  expect(await linesOf(batch.token)).toHaveLength(2);
  expect(await metrics()).toEqual([3, 0, 0, 3]);
  expect(await readHealth(db.sql, team)).toMatchObject({ failure_count: 1, last_failure_code: "UNAVAILABLE" });
});

// Guarantee: a batch of another site cannot be finished by knowing its id.
test("a batch is finished under its own site only", async () => {
  const other = await createQueueTeam(db.sql, `stranger${number}`, founder, "api");
  const batch = await startBatch(db.sql, team, start);
  expect(await finishBatch(db.sql, other, batch, { outcome: "success" }, start)).toBe(false);
  expect(await linesOf(batch.token)).toHaveLength(1);
  expect(await finishBatch(db.sql, team, batch, { outcome: "success" }, start)).toBe(true);
});

describe("dead workers", () => {
  // Guarantee: every STARTED ends, also of a worker that was killed.
  test("their batches are finished as WORKER_LOST after the lease, once", async () => {
    const { token } = await startBatch(db.sql, team, start);
    expect(await sweep(minutesLater(14))).toEqual({ ended: 0, reopened: 0 });
    expect(await sweep(minutesLater(15))).toEqual({ ended: 1, reopened: 0 });
    expect(await sweep(minutesLater(16))).toEqual({ ended: 0, reopened: 0 });
    expect(await linesOf(token)).toMatchObject([
      { phase: "STARTED" },
      { phase: "FINISHED", retry_count: 3, error_code: "WORKER_LOST", error_category: "TRANSIENT", duration_ms: null },
    ]);
    expect(await metrics()).toEqual([3, 0, 0, 3]);
  });

  // Guarantee: a worker's death says nothing about the provider.
  test("they do not count against the provider, and their late answer changes nothing", async () => {
    const batches = [];
    for (let batch = 0; batch < 6; batch += 1) batches.push(await startBatch(db.sql, team, start));
    await sweep(minutesLater(20));
    for (const batch of batches) expect(await finishBatch(db.sql, team, batch, { outcome: "transient" }, minutesLater(21))).toBe(false);
    expect(await readHealth(db.sql, team)).toMatchObject({ state: "CLOSED", failure_count: 0 });
  });
});

// Guarantee: rows that wait for the circuit or for a slot are no attempts, and the provider is not blamed for them.
test("a deferral is two lines and nothing else", async () => {
  await db.sql`select private.record_deferral(${team.siteUuid}, 'google_ads', 7, 'CONCURRENCY_LIMIT')`;
  const lines = await db.sql`select * from public.provider_upload_attempts where site_id = ${team.siteUuid} order by id`;
  expect(lines).toMatchObject([
    { phase: "STARTED", claimed_count: 7 },
    {
      phase: "FINISHED",
      retry_count: 7,
      completed_count: 0,
      failed_count: 0,
      error_code: "CONCURRENCY_LIMIT",
      error_category: "TRANSIENT",
    },
  ]);
  expect(lines[0]?.batch_id).toBe(lines[1]?.batch_id);
  expect(await metrics()).toBeNull();
  expect((await readHealth(db.sql, team)).failure_count).toBe(0);
});

// Guarantee: nobody rewrites what was tried, not even our own functions.
test.each([
  "update private.finished_batches set claimed_count = 0",
  "delete from private.finished_batches",
  "truncate private.finished_batches",
])("%s is refused", async (statement) => {
  await finishBatch(db.sql, team, await startBatch(db.sql, team, start), { outcome: "success" }, start);
  await expect(db.sql.unsafe(statement)).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT", code: "PT409" });
});

describe("states that cannot be stored", () => {
  const set = (change: string) => db.sql.unsafe(`update public.provider_health_state set ${change} where site_id = '${team.siteUuid}'`);

  // Guarantee: a half-open circuit without a probe, or a block without a cause, would wait for ever.
  test.each([
    ["five_failures_open_the_circuit", "failure_count = 5"],
    ["five_failures_open_the_circuit", "state = 'OPEN', next_probe_at = now(), failure_count = 4"],
    ["open_circuits_have_a_probe_time", "state = 'OPEN', failure_count = 5"],
    ["open_circuits_have_a_probe_time", "next_probe_at = now()"],
    ["half_open_circuits_have_one_probe", "state = 'HALF_OPEN', failure_count = 5, next_probe_at = now()"],
    ["half_open_circuits_have_one_probe", "probe_token = gen_random_uuid(), probe_until = now()"],
    ["blocks_say_why", "blocked_at = now()"],
    ["blocks_say_why", "blocked_message = 'x'"],
    ["circuit_state_is_known", "state = 'AJAR'"],
    ["probe_limit_is_bounded", "probe_limit = 0"],
  ])("%s refuses %s", async (constraint, change) => {
    await expect(set(change)).rejects.toMatchObject({ constraint_name: constraint });
  });

  test("the last failure that leaves it closed, and the first that opens it", async () => {
    await set("failure_count = 4");
    await set("failure_count = 5, state = 'OPEN', next_probe_at = now()");
  });

  // Guarantee: a batch ends once, with a count for each outcome, whoever writes it.
  test.each([
    ["a second end", {}, { constraint_name: "finished_batches_pkey" }],
    ["the STARTED line of another batch", { batch_id: randomUUID() }, { constraint_name: "finished_batches_started_in_key" }],
    ["no number of claimed rows", { claimed_count: null }, { column_name: "claimed_count" }],
    ["no number of failures", { failed_count: null }, { column_name: "failed_count" }],
    ["a negative number", { retry_count: -1 }, { constraint_name: "counts_are_not_negative" }],
  ])("an ended batch with %s", async (_what, change, refusal) => {
    const { token } = await startBatch(db.sql, team, start);
    await finishBatch(db.sql, team, { token, credentials_version: 1 } as never, { outcome: "success" }, start);
    const [ended] = await db.sql`select * from private.finished_batches where batch_id = ${token}`;
    await expect(db.sql`insert into private.finished_batches ${db.sql({ ...ended, ...change })}`).rejects.toMatchObject(refusal);
  });
});

describe("increment_provider_upload_metrics", () => {
  const add = (counts: [number, number, number, number]) =>
    service(db.sql, "increment_provider_upload_metrics", {
      p_site_id: team.siteUuid,
      p_provider_key: "google_ads",
      p_attempts: counts[0],
      p_completed: counts[1],
      p_failed: counts[2],
      p_retry: counts[3],
    });

  test("adds up", async () => {
    await add([5, 3, 1, 1]);
    await add([2, 0, 0, 2]);
    expect(await metrics()).toEqual([7, 3, 1, 3]);
  });

  // Guarantee: a cron that tidies up changes no figure, and answers of one site do not wait for each other's commits.
  // Mutation that breaks it: a fold that counts its lines twice or not at all; adding up in the totals at once.
  test("what was appended and what was folded add up, also beside an answer that has not committed", async () => {
    await add([5, 3, 1, 1]);
    await service(db.sql, "fold_queue_counts", {});
    await add([2, 0, 0, 2]);
    expect(await metrics()).toEqual([7, 3, 1, 3]);
    await db.sql.begin(async (tx) => {
      await tx`select public.increment_provider_upload_metrics(${team.siteUuid}, 'google_ads', 1, 1, 0, 0)`;
      await add([1, 0, 1, 0]);
      await service(db.sql, "fold_queue_counts", {});
      expect(await metrics()).toEqual([8, 3, 2, 3]);
    });
    await service(db.sql, "fold_queue_counts", {});
    expect(await metrics()).toEqual([9, 4, 2, 3]);
    const [left] = await db.sql`select count(*)::int as n from private.upload_metric_deltas`;
    expect(left?.n).toBe(0);
  });

  // Guarantee: counters only grow, so that a dashboard's rate is never negative.
  test("takes nothing away", async () => {
    await expect(add([1, -1, 0, 0])).rejects.toMatchObject({ message: "VALIDATION_FAILED" });
    expect(await metrics()).toBeNull();
  });
});
