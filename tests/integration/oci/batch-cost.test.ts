import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bulkSeal } from "#tests/fixtures/bulk-seal.ts";
import { claimForScript, claimForWorker, minutesLater, sealedAt } from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import type { Person, Team } from "#tests/fixtures/team.ts";
import { act, preview, undo } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { type WatchedPlans, watchPlans } from "#tests/support/watched-plans.ts";

const batch = 100;
/**
 * No step of a plan handles more rows than this. On tables as small as these the planner may compare each row with each; with the
 * thousands that a call takes at most that is a second's work. Two such steps in one another are half an hour's.
 */
const bearable = 4 * batch * batch;

let db: TestDatabase;
let plans: WatchedPlans;
let watched: postgres.Sql;
let statements = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  plans = await watchPlans(db.adminUrl);
  watched = plans.sql;
});
afterAll(async () => {
  await watched.end();
  await db.drop();
});

async function costOf<T>(work: () => Promise<T>): Promise<T> {
  const { answer, steps, statements: run } = await plans.stepsOf(work);
  statements = run;
  expect(steps.length).toBeGreaterThan(0);
  expect(steps.filter(({ rows }) => rows > bearable)).toEqual([]);
  return answer;
}

/** The same, and no statement for each row: what a sender waits for costs as many statements for a thousand rows as for one. */
async function setBased<T>(work: () => Promise<T>): Promise<T> {
  const answer = await costOf(work);
  expect(statements).toBeLessThan(batch);
  return answer;
}

let teams = 0;
let founder: Team | undefined;
async function newTeam(create: (sql: postgres.Sql, name: string, founder?: Person) => Promise<Team> = createQueueTeam): Promise<Team> {
  teams += 1;
  const team = await create(db.sql, `cost-${teams}`, founder?.owner);
  founder ??= team;
  await deliverySettings(db.sql, team, { signalsEnabled: true });
  return team;
}
/** With figures of the time at which all of them waited: what the planner knows of a queue is always old. */
async function sealMany(team: Team): Promise<string[]> {
  const ids = await bulkSeal(db.sql, team, batch, { at: sealedAt });
  await db.sql`analyze`;
  return ids;
}

// Guarantee: whatever the planner believes of how many rows there are, a sweep after an outage ends.
// Mutations that break it: join the CTE of stuck rows to the CTE of free sales, to find the rows to bring back; of_this_site in a where.
test("the script's rows: claimed, failed, tried again, recovered, capped, opened again, acknowledged", async () => {
  const team = await newTeam();
  const ids = await sealMany(team);
  const about = { p_site_id: team.siteUuid, p_ids: ids };
  const at = (name: string, args: Record<string, unknown>, minute: number) =>
    costOf(() => service(watched, name, args, minutesLater(minute)));
  const claim = (minute: number) => setBased(() => claimForScript(watched, team, ids, minutesLater(minute)));
  const answer = (name: string, args: Record<string, unknown>, minute: number) =>
    setBased(() => service(watched, name, args, minutesLater(minute)));

  await at("get_export_page", { p_site_id: team.siteUuid, p_max_attempts: 5, p_limit: batch }, 1);
  expect((await claim(1)).rows).toHaveLength(batch);
  const failure = { p_code: "APPLY_FAILED", p_category: "TRANSIENT", p_message: "threw" };
  expect(await at("fail_offline_conversions", { ...about, ...failure }, 2)).toMatchObject({ updated: batch });
  expect(await at("recover_stuck_offline_conversion_jobs", {}, 10)).toMatchObject({ retried: batch });
  await claim(11);
  expect(await at("recover_stuck_offline_conversion_jobs", {}, 30)).toMatchObject({ recovered: batch });
  await claim(31);
  expect(await at("oci_attempt_cap", { p_max_attempts: 3 }, 60)).toMatchObject({ capped: batch });
  const { body } = await costOf(() => act(watched, { action: "RETRY_SELECTED", ids }, { team, at: minutesLater(61) }));
  expect(body).toMatchObject({ affected: batch });
  await claim(62);
  expect(await answer("ack_offline_conversions", about, 63)).toMatchObject({ updated: batch });
  expect(await answer("ack_offline_conversions", about, 64)).toMatchObject({ updated: batch });
});

test("the worker's rows: deferred, claimed, settled one way and the other; expired", async () => {
  const team = await newTeam(createApiTeam);
  await sealMany(team);
  const p_provider_key = "google_ads";
  const late = minutesLater(10).toISOString();
  const deferral = { p_site_id: team.siteUuid, p_provider_key, p_limit: 5000, p_until: late, p_code: "CIRCUIT_OPEN", p_message: "open" };
  expect(await costOf(() => service(watched, "defer_offline_conversion_jobs", deferral, minutesLater(1)))).toEqual({ deferred: batch });
  const claim = (minute: number) => setBased(() => claimForWorker(watched, team, { at: minutesLater(minute) }));
  const first = await claim(11);
  const settle = ({ token, rows }: Awaited<ReturnType<typeof claim>>, minute: number, outcome: (index: number) => string) => {
    const p_results = rows.map(({ id }, index) => ({ id, outcome: outcome(index), code: "INTERNAL", category: "TRANSIENT" }));
    const args = { p_site_id: team.siteUuid, p_token: token, p_results };
    return setBased(() => service(watched, "settle_offline_conversion_jobs", args, minutesLater(minute)));
  };
  expect(await settle(first, 12, (index) => (index % 2 ? "COMPLETED" : "RETRY"))).toMatchObject({
    completed: batch / 2,
    retried: batch / 2,
  });
  const recovered = await costOf(() => service(watched, "recover_stuck_offline_conversion_jobs", {}, minutesLater(91 * 24 * 60)));
  expect(recovered).toMatchObject({ expired: batch / 2 });
  await costOf(() => service(watched, "reconcile_queue_counts", {}));
});

test("an operator's action on everything that matches, and its undo", async () => {
  const team = await newTeam();
  await sealMany(team);
  const now = minutesLater(5);
  const frozen = await costOf(() => preview(watched, "MARK_FAILED", { status: "QUEUED" }, { team, at: now }));
  expect(frozen).toMatchObject({ count: batch });
  const { previewId, digest } = frozen;
  const { body } = await costOf(() => act(watched, { action: "MARK_FAILED", previewId, digest, reason: "by test" }, { team, at: now }));
  expect(body).toMatchObject({ affected: batch });
  const undone = await costOf(() => undo(watched, String(body.actionId), { team, at: minutesLater(6) }));
  expect(undone.body).toMatchObject({ affected: batch });
});

test("signals: claimed, failed, recovered, sent", async () => {
  const team = await newTeam();
  await sealMany(team);
  const at = (name: string, args: Record<string, unknown>, minute: number) =>
    costOf(() => service(watched, name, args, minutesLater(minute)));
  const claim = async (minute: number) => {
    const { rows } = await costOf(() =>
      service<{ rows: { id: string }[] }>(
        watched,
        "claim_marketing_signals",
        { p_site_id: team.siteUuid, p_limit: batch },
        minutesLater(minute),
      ),
    );
    expect(rows).toHaveLength(batch);
    return { p_site_id: team.siteUuid, p_ids: rows.map(({ id }) => id) };
  };
  await at("fail_marketing_signals", { ...(await claim(1)), p_category: "TRANSIENT", p_message: "threw" }, 2);
  await claim(20);
  await at("recover_marketing_signals", {}, 40);
  expect(await at("ack_marketing_signals", await claim(41), 42)).toMatchObject({ updated: batch });
});

test("signals of a worker: listed, claimed, failed, recovered, sent", async () => {
  const team = await newTeam(createApiTeam);
  await sealMany(team);
  const about = { p_site_id: team.siteUuid, p_provider_key: "google_ads", p_limit: batch };
  const claim = async (minute: number) => {
    const claimed = await setBased(() =>
      service<{ token: string; rows: { id: string }[]; batch: object }>(
        watched,
        "claim_marketing_signal_jobs",
        about,
        minutesLater(minute),
      ),
    );
    expect(claimed.rows).toHaveLength(batch);
    return claimed;
  };
  const settle = (claimed: Awaited<ReturnType<typeof claim>>, result: object, minute: number) => {
    const p_results = claimed.rows.map(({ id }) => ({ id, ...result }));
    const p_batch = { provider: "google_ads", outcome: "success", ...claimed.batch };
    const args = { p_site_id: team.siteUuid, p_token: claimed.token, p_results, p_batch };
    return setBased(() => service(watched, "settle_marketing_signal_jobs", args, minutesLater(minute)));
  };
  const groups = await setBased(() => service<{ site_id: string }[]>(watched, "list_signal_groups", {}, minutesLater(1)));
  expect(groups).toContainEqual(expect.objectContaining({ site_id: team.siteUuid, queued_count: batch }));
  expect(await settle(await claim(1), { outcome: "RETRY", category: "TRANSIENT", message: "threw" }, 2)).toMatchObject({ retried: batch });
  await claim(20);
  await costOf(() => service(watched, "recover_marketing_signals", {}, minutesLater(40)));
  const sent = { outcome: "COMPLETED", transport: "data_manager", requestId: "req-1" };
  expect(await settle(await claim(41), sent, 42)).toMatchObject({ completed: batch });
});

// Guarantee: a sweep of thousands costs as much on a connection that changed single rows before. Triggers are planned once, for the first
// statement, and 8,000 rows compared each with each took a minute.
// Mutation that breaks it: count_changed_queue_rows or record_queue_moves with nested loops.
test("many rows changed at once, after one", async () => {
  const fresh = await watchPlans(db.adminUrl); // its triggers have no plan yet
  const team = await newTeam(createApiTeam);
  const [first = "", ...others] = await sealMany(team);
  const defer = (limit: number, minute: number) =>
    service(
      fresh.sql,
      "defer_offline_conversion_jobs",
      {
        p_site_id: team.siteUuid,
        p_provider_key: "google_ads",
        p_limit: limit,
        p_until: minutesLater(minute + 30).toISOString(),
        p_code: "CIRCUIT_OPEN",
        p_message: "m",
        p_jitter_seconds: 0,
      },
      minutesLater(minute),
    );
  for (let times = 0; times < 6; times++)
    await act(fresh.sql, { action: "RESET_TO_QUEUED", ids: [first] }, { team, at: minutesLater(times + 1) });
  expect(others).toHaveLength(batch - 1);
  const { answer, steps } = await fresh.stepsOf(() => defer(batch, 10));
  expect(answer).toMatchObject({ deferred: batch });
  expect(steps.filter(({ name, rows }) => / in [\s\S]*(before|after)_rows/.test(name) && rows > 2 * batch)).toEqual([]);
  await fresh.sql.end();
});
