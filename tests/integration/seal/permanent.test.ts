import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { claim, succeed } from "#tests/support/delivery.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "permanent");
  const call = await newLead(db.sql, team);
  const { body } = await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 });
  const later = new Date(Date.now() + 7 * 3_600_000);
  await succeed(db.sql, String(await claim(db.sql, String(body.saleId), later)), later);
  const waiting = await newLead(db.sql, team);
  await change(db.sql, { team }, "seal_call", { id: waiting, amountCents: 425_000 });
  await db.sql`select public.seal_proof_blocks()`;
  // What a careless function of ours could do: it runs as the owner, whoever calls it.
  await db.sql.unsafe(`create function public.careless(p_statement text) returns void language plpgsql security definer set search_path = ''
    as $$ begin execute p_statement; end $$; grant execute on function public.careless(text) to public`);
});
afterAll(() => db.drop());

const ledgers = [
  ["public.revenue_snapshots", "amount_cents = 1"],
  ["public.transition_proofs", "facts = '{}'"],
  ["private.queue_moves", "reason = 'mine'"],
  ["private.queue_batch_moves", "reason = 'mine'"],
  ["public.proof_blocks", "root = 'mine'"],
] as const;
const statements = ledgers.flatMap(([table, edit]) => [
  [`update ${table} set ${edit}`],
  [`delete from ${table}`],
  [`truncate ${table} cascade`],
]);
const dispatchStatements = [
  ["delete from private.queue_delivered"],
  ["truncate private.queue_delivered cascade"],
  ["delete from private.queue_open"],
  ["delete from public.offline_conversion_queue"],
  ["truncate public.offline_conversion_queue cascade"],
];

const count = async () => {
  const [row] = await db.sql`select (select count(*) from public.revenue_snapshots) + (select count(*) from public.transition_proofs)
    + (select count(*) from public.queue_transitions) + (select count(*) from public.proof_blocks) + (select count(*) from public.provider_dispatches) as n`;
  return Number(row?.n);
};

// Guarantee: nobody can make the books say something else, not the people who keep them and not our own code.
describe.each([...statements, ...dispatchStatements])("%s", (statement) => {
  test.each(["anon", "authenticated", "service_role", "opsmantik_app"])("is refused to %s", async (role) => {
    const before = await count();
    const attempt = db.sql.begin(async (tx) => {
      await tx.unsafe(`set local role ${role}`);
      await tx.unsafe(statement);
    });
    await expect(attempt).rejects.toMatchObject({ code: "42501" });
    expect(await count()).toBe(before);
  });

  test("is refused to the owner, and to a function that runs as the owner", async () => {
    const before = await count();
    expect(before).toBeGreaterThan(5);
    for (const attempt of [db.sql.unsafe(statement), db.sql`select public.careless(${statement})`])
      await expect(attempt).rejects.toMatchObject({ code: "PT409", message: "RECORD_IS_PERMANENT" });
    expect(await count()).toBe(before);
  });
});

test("what was handed over stays what was handed over; only Google's verdict is added", async () => {
  for (const edit of [
    "value_cents = 1",
    "currency = 'USD'",
    "kind = 'RETRACT'",
    "status = 'FAILED'",
    "order_id = 'mine'",
    "conversion_name = 'mine'",
    "conversion_time = now()",
    "identifiers_hash = null",
    "uploaded_at = now()",
  ])
    await expect(db.sql.unsafe(`update private.queue_delivered set ${edit}`)).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT" });
  await db.sql`update private.queue_delivered set verdict = 'CONFIRMED', verdict_at = now()`;
});
