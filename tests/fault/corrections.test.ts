import { afterAll, beforeAll, expect, test } from "vitest";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { findCorrectionProblems, runCorrectionStorm } from "#tests/support/correction-storm.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

const isFull = process.env.OPSMANTIK_FAULT === "full";
const waves = isFull ? 60 : 3;
const seed = Number(process.env.OPSMANTIK_STORM_SEED ?? 20_261_117);

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const storm = async (team: Team, count: number, stormSeed = seed) => {
  const { tally, handed } = await runCorrectionStorm({ sql: db.sql, team, waves: count, seed: stormSeed });
  return { tally, problems: await findCorrectionProblems(db.sql, team, handed) };
};

// Guarantee: whoever changes a sale, dies or answers late, and in which order: what Google was sent and what is queued equal the ledger,
// counts are exact and every move follows from the one before. The mutations below break it.
test(
  `${waves} waves of sales that are corrected and cancelled while four workers deliver them`,
  async () => {
    const { tally, problems } = await storm(await createApiTeam(db.sql, "corrections"), waves);
    console.log(`${JSON.stringify(tally)} (seed ${seed})`);
    expect(problems, `Run it again with OPSMANTIK_STORM_SEED=${seed}`).toEqual([]);
    expect(Math.min(tally.inOneCall, tally.leftToSettle, tally.died, tally.late, tally.recovered, tally.changes)).toBeGreaterThan(0);
  },
  isFull ? 1_800_000 : 600_000,
);

type Mutate = (sql: TestDatabase["sql"]) => Promise<unknown>;

const mutations: [name: string, mutate: Mutate][] = [
  [
    "an answer that does not ask whether the row is still plain",
    (sql) => edit(sql, "deliver_plain", "and q.is_plain and q.claim_token", "and q.claim_token"),
  ],
  [
    "a change of the sale that does not wait for its rows",
    (sql) =>
      edit(
        sql,
        "end_plain_rows",
        "where q.sale_id = p_sale_id and q.is_plain",
        "where q.id in (select x.id from private.queue_open x where x.sale_id = p_sale_id and x.is_plain for update skip locked)",
      ),
  ],
  ["a change of the sale that does not mark its rows", (sql) => sql`alter table public.sales disable trigger changed_sales_end_plain_rows`],
];

/** Rewrites a part of a function, for this database. */
async function edit(sql: TestDatabase["sql"], name: string, from: string, to: string): Promise<void> {
  const [row] =
    await sql`select pg_get_functiondef(p.oid) as body from pg_proc p where p.pronamespace = 'private'::regnamespace and p.proname = ${name}`;
  const body = String(row?.body);
  if (!body.includes(from)) throw new Error(`${name} has no "${from}".`);
  await sql.unsafe(body.replace(from, to));
}

// Guarantee: the mutations do not become empty unnoticed between two full runs.
test("what each mutation changes is still there", async () => {
  const changed = await createTestDatabase();
  for (const [, mutate] of mutations) await mutate(changed.sql);
  await changed.drop();
});

// Guarantee: the storm above can fail. Each mutation is put into a database of its own, and found.
test.runIf(isFull).each(mutations)("finds %s", { timeout: 900_000 }, async (_name, mutate) => {
  await db.drop();
  db = await createTestDatabase();
  await mutate(db.sql);
  let team = await createApiTeam(db.sql, "mutated-0");
  let problems: string[] = [];
  for (let tries = 1; tries <= 20 && problems.length === 0; tries++) {
    problems = (await storm(team, 4, seed + tries).catch((error: Error) => ({ problems: [error.message] }))).problems;
    team = await createApiTeam(db.sql, `mutated-${tries}`, team.owner);
  }
  console.log(problems.slice(0, 3));
  expect(problems).not.toEqual([]);
});
