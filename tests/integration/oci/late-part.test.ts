import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { claimForWorker, minutesLater, type Sealed, sealLead, settleClaim, type WorkerClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { recordAnswer } from "#tests/support/verdicts.ts";

/** A batch whose answer is stored in two parts, while Google is already asked for the verdict: VERDICT_FIRST_POLL_SECONDS is below a worker's run. */

let db: TestDatabase;
let owner: Person;
let team: Team;
let sold: Sealed[];
let claim: WorkerClaim;
let teams = 0;
const requestId = "request-of-two-parts";
beforeAll(async () => {
  db = await createTestDatabase();
  owner = await createPerson(db.sql, "owner@late-part.test");
});
beforeEach(async () => {
  team = await createApiTeam(db.sql, `late-part-${++teams}`, owner);
  sold = [await sealLead(db.sql, team), await sealLead(db.sql, team)];
  claim = await claimForWorker(db.sql, team, { at: minutesLater(1) });
});
afterAll(() => db.drop());

const settle = (rows: WorkerClaim["rows"]) =>
  settleClaim(db.sql, team, { ...claim, rows }, (row) => ({ outcome: "COMPLETED", requestId, recordIndex: claim.rows.indexOf(row) }), {
    at: minutesLater(1),
    batch: { outcome: "success", firstPollSeconds: 1 },
  });
const confirm = () => recordAnswer(db.sql, team, requestId, { status: "SUCCESS", rest: "CONFIRMED" }, minutesLater(2));
const verdicts = async () =>
  (
    await db.sql`select verdict from public.provider_dispatches where sale_id = any (${sold.map(({ saleId }) => saleId)}::uuid[]) order by record_index`
  ).map(({ verdict }) => verdict);
const request = async () => {
  const [row] = await db.sql`select finished_at, next_poll_at, cardinality(row_ids) as rows from public.provider_requests
    where site_id = ${team.siteUuid} and request_id = ${requestId}`;
  return row;
};
const untilWaiting = async (count: number) => {
  for (let waiting = 0; waiting < count; )
    waiting = (await db.sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).length;
};

// Guarantee: neither answer nor verdict is lost to a deadlock. The answer holds both sales and is kept at the second row; the verdict comes
// meanwhile. Mutation: record_verdicts locks the request before the sales.
test("the verdict waits for the sales, not the answer for the request, and the late part is asked for again", async () => {
  const [first, second] = claim.rows;
  if (!first || !second) throw new Error("Two rows were expected.");
  await settle([first]);
  const [settled, judged] = await db.sql.begin(async (tx) => {
    await tx`select from private.queue_open where id = ${second.id} for update`;
    const settling = settle(claim.rows).catch((error: unknown) => error);
    await untilWaiting(1);
    const judging = confirm().catch((error: unknown) => error);
    await untilWaiting(2);
    return [settling, judging];
  });
  expect(await settled).toMatchObject({ completed: 1 });
  expect(await judged).toMatchObject({ recorded: 1 });
  expect(await verdicts()).toEqual(["CONFIRMED", null]);
  expect(await request()).toMatchObject({ finished_at: null, next_poll_at: minutesLater(2), rows: 2 });
  expect(await confirm()).toMatchObject({ recorded: 1 });
  expect(await verdicts()).toEqual(["CONFIRMED", "CONFIRMED"]);
  expect(await request()).toMatchObject({ finished_at: minutesLater(2), next_poll_at: null });
});

test("a late part that comes after the verdict opens the request again", async () => {
  const [first] = claim.rows;
  if (!first) throw new Error("Two rows were expected.");
  await settle([first]);
  await confirm();
  expect(await request()).toMatchObject({ finished_at: minutesLater(2) });
  await settle(claim.rows);
  expect(await request()).toMatchObject({ finished_at: null, rows: 2 });
  await confirm();
  expect(await verdicts()).toEqual(["CONFIRMED", "CONFIRMED"]);
});

test("two pollers with the same answer judge each row once", async () => {
  await settle(claim.rows);
  const [one, other] = await db.sql.begin(async (tx) => {
    await tx`select from public.sales where id = ${sold[0]?.saleId ?? ""} for update`;
    const both = [confirm(), confirm()];
    await untilWaiting(2);
    return both;
  });
  expect([(await one)?.recorded, (await other)?.recorded].sort()).toEqual([0, 2]);
  expect(await request()).toMatchObject({ finished_at: minutesLater(2) });
});
