import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { createTeam, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
let sealed: string;
let junk: string;
let row: string;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "notes");
  sealed = await newLead(db.sql, team);
  junk = await newLead(db.sql, team);
  await change(db.sql, { team }, "change_call", { id: junk, to: "junk", reason: "SECRET junk reason" });
  const { body } = await change(db.sql, { team }, "seal_call", { id: sealed, amountCents: 150_000, note: "SECRET seal note" });
  await change(db.sql, { team }, "correct_sale", { id: body.saleId, amountCents: 140_000, reason: "SECRET correction" });
  const [queued] = await db.sql`select id from public.offline_conversion_queue where sale_id = ${String(body.saleId)}`;
  row = String(queued?.id);
});
afterAll(() => db.drop());

const readers: [string, number, (tx: postgres.TransactionSql) => Promise<unknown>][] = [
  ["the list and the CSV of sales", 1, (tx) => tx`select public.list_sales(${team.siteId})`],
  ["the desk", 1, (tx) => tx`select public.desk_leads(${team.siteId}, ${tx.json({ view: "all" })})`],
  ["a sealed lead", 2, (tx) => tx`select public.desk_lead(${team.siteId}, ${sealed})`],
  ["a junk lead", 1, (tx) => tx`select public.desk_lead(${team.siteId}, ${junk})`],
  ["the log and its CSV", 2, (tx) => tx`select public.list_activity(${team.siteId})`],
  ["a conversion's story", 1, (tx) => tx`select public.queue_row_story(${team.siteId}, ${row}, 5)`],
  ["the usual amounts", 1, (tx) => tx`select public.amount_presets(${team.siteId})`],
];
const secretsIn = async (person: Person, read: (tx: postgres.TransactionSql) => Promise<unknown>) =>
  JSON.stringify(await callAs(db.sql, person, read as never)).match(/SECRET/g)?.length ?? 0;

// Guarantee: what people wrote about a customer is read by those who work with customers. Mutation: let readable_note answer p_note.
test.each(readers)("a viewer reads no note in %s; operators and owners do", async (_name, notes, read) => {
  expect(await secretsIn(team.viewer, read)).toBe(0);
  expect(await secretsIn(team.operator, read)).toBeGreaterThanOrEqual(notes);
  expect(await secretsIn(team.owner, read)).toBeGreaterThanOrEqual(notes);
});

// Guarantee: a reader that is added later is asked, too.
test("a viewer reads no note through any function that needs only the site", async () => {
  const functions = await db.sql<{ name: string }[]>`
    select p.proname as name from pg_proc p
    where p.pronamespace = 'public'::regnamespace and p.provolatile = 's' and has_function_privilege('authenticated', p.oid, 'execute')
      and p.proargtypes[0] = 'text'::regtype and p.proargnames[1] = 'p_public_id' and p.pronargs - p.pronargdefaults = 1
    order by 1`;
  expect(functions.length).toBeGreaterThan(10);
  for (const { name } of functions) {
    const answer = await callAs(db.sql, team.viewer, (tx) => tx`select ${tx(`public.${name}`)}(${team.siteId})`).catch(String);
    expect(JSON.stringify(answer), name).not.toContain("SECRET");
  }
});

test("a viewer reads no note from a table", async () => {
  const tables = await db.sql<{ name: string }[]>`
    select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables where schemaname in ('public', 'private')`;
  for (const { name } of tables) {
    const read = (tx: postgres.TransactionSql) => tx`select jsonb_agg(t) from ${tx.unsafe(name)} t`;
    expect(JSON.stringify(await callAs(db.sql, team.viewer, read).catch(String)), name).not.toContain("SECRET");
  }
});
