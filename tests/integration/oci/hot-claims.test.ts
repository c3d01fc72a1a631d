import postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { become } from "#tests/fixtures/act-as.ts";
import { copyRows } from "#tests/fixtures/bulk-rows.ts";
import { claimForScript, claimForWorker, minutesLater, sealLead, settleClaim, type WorkerClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { act, listRows, readStats, undo } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

/** A claim changes no indexed column, so Postgres writes the row into its page and into no index. Rows in flight are found by their lease. */

let db: TestDatabase;
let owner: Person;
let team: Team;
let teams = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  owner = await createPerson(db.sql, "owner@hot.test");
});
beforeEach(async () => {
  team = await createApiTeam(db.sql, `hot-${++teams}`, owner);
});
afterAll(() => db.drop());

const answerAndClaim = (sql: postgres.Sql, { token, rows, batch }: WorkerClaim, limit: number) =>
  service<{ completed: number; claim: WorkerClaim | null }>(
    sql,
    "settle_and_claim_conversion_jobs",
    {
      p_site_id: team.siteUuid,
      p_provider_key: "google_ads",
      p_token: token,
      p_ids: rows.map(({ id }) => id),
      p_indexes: rows.map((_row, index) => index),
      p_sent: { transport: "ads_api", requestId: "r-1", verdict: "CONFIRMED" },
      p_batch: { provider: "google_ads", outcome: "success", credentialsVersion: batch.credentialsVersion, durationMs: 5 },
      p_limit: limit,
    },
    minutesLater(5),
  );
const recover = (minute: number, minAge = 15) =>
  service(db.sql, "recover_stuck_offline_conversion_jobs", { p_min_age_minutes: minAge }, minutesLater(minute));
const leases = () => db.sql`select token from private.queue_leases where site_id = ${team.siteUuid}`;
const statuses = async (ids: string[]) => {
  const rows = await db.sql<{ status: string }[]>`select status from public.offline_conversion_queue where id = any (${ids}::uuid[])`;
  return rows.map(({ status }) => status);
};

/** Every row with a token is named by the lease of that token. */
const withoutLease = () => db.sql`select q.id from private.queue_open q where q.claim_token is not null and not exists (
  select from private.queue_leases l where l.token = q.claim_token and l.site_id = q.site_id and l.claimed_at = q.claimed_at and q.id = any (l.row_ids))`;

// Guarantee: a claim writes into no index, so it costs the same however many indexes the screens need.
// Mutation that breaks it: an index with attempt_count or claim_token, or a fillfactor of 80.
test("claims of plain rows are HOT", async () => {
  const { saleId } = await sealLead(db.sql, team);
  await copyRows(db.sql, saleId, 2000, { halfDeferred: false });
  const sql = postgres(db.adminUrl, { max: 1 });
  try {
    const read = async () => {
      await sql`select pg_stat_force_next_flush()`;
      await sql`select pg_stat_clear_snapshot()`;
      const [stat] =
        await sql`select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = 'queue_open'`;
      return { all: Number(stat?.all), hot: Number(stat?.hot) };
    };
    const before = await read();
    let claim: WorkerClaim | null = await claimForWorker(sql, team, { at: minutesLater(1), limit: 50 });
    let done = 0;
    while (claim && claim.rows.length > 0) {
      const answer = await answerAndClaim(sql, claim, 50);
      done += answer.completed;
      claim = answer.claim;
    }
    expect(done).toBe(2001);
    const after = await read();
    expect(after.all - before.all).toBe(2001);
    expect((after.hot - before.hot) / (after.all - before.all)).toBeGreaterThanOrEqual(0.95);
  } finally {
    await sql.end();
  }
  expect(await leases()).toHaveLength(0);
});

// Guarantee: the rule that keeps claims HOT is seen, and not only felt: no index has a column that a claim changes.
// Mutation that breaks it: an index on attempt_count, or a claim that sets updated_at.
test("no index of the open part has a column that a claim changes", async () => {
  const { id, saleId } = await sealLead(db.sql, team);
  const read = async () => (await db.sql`select to_jsonb(q) as row from private.queue_open q where id = ${id}`)[0]?.row;
  const changed = new Set<string>();
  const claim = async (minute: number) => {
    const before = await read();
    const claimed = await claimForWorker(db.sql, team, { at: minutesLater(minute) });
    expect(claimed.rows).toHaveLength(1);
    const after = await read();
    for (const column of Object.keys(after)) if (JSON.stringify(after[column]) !== JSON.stringify(before[column])) changed.add(column);
    return claimed;
  };
  const failure = { outcome: "RETRY", category: "TRANSIENT", code: "X", message: "w" } as const;
  await settleClaim(db.sql, team, await claim(1), failure, { at: minutesLater(2) }); // as a plain row
  await settleClaim(db.sql, team, await claim(60), failure, { at: minutesLater(61) }); // as another
  expect(changed).toContain("claim_token");
  expect(changed).toContain("status");
  const [row] = await db.sql`select is_plain, tries from private.queue_open where sale_id = ${saleId}`;
  expect(row).toEqual({ is_plain: false, tries: 2 });
  // Keys, expressions and predicates alike: Postgres notes the columns of the latter two as dependencies.
  const indexed = await db.sql<{ index: string; column: string }[]>`
    select distinct i.indexrelid::regclass::text as index, a.attname as column
    from pg_index i join pg_attribute a on a.attrelid = i.indrelid
    where i.indrelid = 'private.queue_open'::regclass and (a.attnum = any (i.indkey) or exists (
      select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = i.indexrelid
        and d.refclassid = 'pg_class'::regclass and d.refobjid = i.indrelid and d.refobjsubid = a.attnum))`;
  expect(indexed.map(({ column }) => column)).toContain("tries");
  expect(indexed.filter(({ column }) => changed.has(column))).toEqual([]);
});

// Guarantee: in the order of change a claimed row stands where it was claimed, on every page and in every filter, though the claim left updated_at.
// Mutation that breaks it: place_of, or changed_at of PROCESSING, with updated_at alone.
test("pages in the order of change neither skip nor repeat rows in flight", async () => {
  const ids: string[] = [];
  for (let minute = 0; minute < 4; minute++) ids.push((await sealLead(db.sql, team, { at: minutesLater(minute) })).id);
  const [first, second, third, fourth] = ids;
  const claimed = [...(await claimForWorker(db.sql, team, { at: minutesLater(20), limit: 1 })).rows];
  claimed.push(...(await claimForWorker(db.sql, team, { at: minutesLater(30), limit: 1 })).rows);
  expect(claimed.map(({ id }) => id)).toEqual([first, second]);
  const paged: string[] = [];
  for (let cursor: string | null | undefined; cursor !== null && paged.length < 9; ) {
    const page = await listRows(db.sql, team, { sort: "updated" }, { cursor, limit: 1, at: minutesLater(40) });
    paged.push(...page.rows.map(({ id }) => id));
    cursor = page.nextCursor;
  }
  expect(paged).toEqual([second, first, fourth, third]);
  const since = await listRows(db.sql, team, { updatedFrom: minutesLater(25).toISOString() }, { at: minutesLater(40) });
  expect(since.rows.map(({ id }) => id)).toEqual([second]);
});

// Guarantee: what is in flight is found, whoever claimed it and however its claim ends; a dead worker's rows come back.
// Mutation that breaks it: an undo that leaves the leases alone, or a sweep that ends leases by their age alone.
test("every row in flight is named by its lease, whatever ended or failed in between", async () => {
  const ids: string[] = [];
  for (let n = 0; n < 6; n++) ids.push((await sealLead(db.sql, team)).id);
  const check = async (expected: string[]) => {
    expect(await withoutLease()).toEqual([]);
    const inFlight = await db.sql`select id from private.queue_open where claim_token is not null and site_id = ${team.siteUuid}`;
    expect(inFlight.map(({ id }) => id).toSorted()).toEqual(expected.toSorted());
    const listed = await listRows(db.sql, team, { status: "PROCESSING" }, { at: minutesLater(70) });
    expect(listed.rows.map(({ id }) => id).toSorted()).toEqual(expected.toSorted());
  };
  const tried = await claimForWorker(db.sql, team, { at: minutesLater(1), limit: 2 });
  const failure = { outcome: "RETRY", category: "TRANSIENT", code: "X", message: "w" } as const;
  await settleClaim(db.sql, team, tried, failure, { at: minutesLater(2), batch: { outcome: "definite", durationMs: 1 } });
  await check([]);
  // Rows that are not plain any more and plain ones, under one token.
  const claim = await claimForWorker(db.sql, team, { at: minutesLater(30), limit: 5 });
  const held = claim.rows.map(({ id }) => id);
  expect(held.filter((id) => tried.rows.some((row) => row.id === id))).not.toHaveLength(0);
  await check(held);
  expect(await leases()).toHaveLength(1);
  // An operator takes all of them back, the sweep ends the lease, and the operator thinks better of it, in two goes.
  const doing = (minute: number) => ({ team, at: minutesLater(minute) });
  const [first, second] = [held.slice(0, 2), held.slice(2)];
  const one = await act(db.sql, { action: "RESET_TO_QUEUED", ids: first }, doing(31));
  const two = await act(db.sql, { action: "RESET_TO_QUEUED", ids: second }, doing(31));
  await recover(33, 1);
  expect(await leases()).toHaveLength(0);
  await undo(db.sql, one.body.actionId, doing(34));
  await check(first);
  await undo(db.sql, two.body.actionId, doing(34));
  await check(held);
  expect(await leases()).toHaveLength(1);
  // A part is answered.
  const part = { ...claim, rows: claim.rows.slice(0, 1) };
  expect(await settleClaim(db.sql, team, part, { outcome: "COMPLETED" }, { at: minutesLater(35) })).toMatchObject({ completed: 1 });
  await check(held.slice(1));
  expect((await readStats(db.sql, team, minutesLater(36))).stuckProcessing).toBe(0);
  expect((await readStats(db.sql, team, minutesLater(50))).stuckProcessing).toBe(4);
  expect((await listRows(db.sql, team, { stuck: true }, { at: minutesLater(50) })).rows).toHaveLength(4);
  await recover(50);
  await check([]);
  expect(await leases()).toHaveLength(0);
  expect(new Set(await statuses(held.slice(1)))).toEqual(new Set(["RETRY"]));
});

// Guarantee: a sweep beside an undo does not leave rows in flight that no sweep would ever find.
// Mutation that breaks it: end_leases that deletes without locking first. It waits for the undo (so the test times out), and then does not
// look at the rows again.
test("a sweep leaves the lease of a row that an undo is just putting back", async () => {
  const { id } = await sealLead(db.sql, team);
  await claimForWorker(db.sql, team, { at: minutesLater(1) });
  const { body } = await act(db.sql, { action: "RESET_TO_QUEUED", ids: [id] }, { team, at: minutesLater(2) });
  await db.sql.begin(async (tx) => {
    await become(tx, team.operator.id, minutesLater(4));
    await tx`select public.undo_queue_action(${team.siteId}, ${tx.json({ actionId: body.actionId })}, ${"0".repeat(64)})`;
    await recover(5, 1);
  });
  expect(await statuses([id])).toEqual(["PROCESSING"]);
  expect(await withoutLease()).toEqual([]);
  await recover(30);
  expect(await statuses([id])).toEqual(["RETRY"]);
});

test("a script's claim is a lease, which ends once all its rows are answered", async () => {
  team = await createQueueTeam(db.sql, "hot-script", owner);
  const ids = [(await sealLead(db.sql, team)).id, (await sealLead(db.sql, team)).id];
  const [first, second] = ids;
  await claimForScript(db.sql, team, ids, minutesLater(1));
  expect(await leases()).toHaveLength(1);
  expect(await withoutLease()).toEqual([]);
  const answer = (name: string, id: string | undefined, args: Record<string, unknown> = {}) =>
    service(db.sql, name, { p_site_id: team.siteUuid, p_ids: [id], ...args }, minutesLater(2));
  await answer("ack_offline_conversions", first);
  expect(await leases()).toHaveLength(1);
  await answer("fail_offline_conversions", second, { p_code: "X", p_category: "VALIDATION", p_message: "x" });
  expect(await leases()).toHaveLength(0);
});
