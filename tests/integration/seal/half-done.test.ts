import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkoutDir } from "#scripts/local/process/state-dir.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { claim, succeed } from "#tests/support/delivery.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "halves");
  await db.sql`create function private.break_down() returns trigger language plpgsql set search_path = ''
    as $$ begin raise exception 'the power is out'; end $$`;
});
afterAll(() => db.drop());

/** Everything that a change may touch, as one text. */
async function everything(): Promise<string> {
  const tables = [
    "calls",
    "sales",
    "revenue_snapshots",
    "offline_conversion_queue",
    "queue_transitions",
    "transition_proofs",
    "marketing_signals",
  ];
  const rows = await Promise.all(
    [...tables, "hos_idempotency_keys"].map((table) => db.sql`select to_jsonb(t) as row from ${db.sql(`public.${table}`)} t order by 1`),
  );
  return JSON.stringify([rows, await db.sql`select proof_id from private.unsealed_proofs order by 1`]);
}

/** The same change with the power cut at each statement that writes to `table`. */
async function cutAt(table: string, event: string, run: () => Promise<unknown>): Promise<void> {
  const before = await everything();
  await db.sql.unsafe(`create trigger zz_breaks before ${event} on ${table} for each row execute function private.break_down()`);
  try {
    await expect(run()).rejects.toThrow("the power is out");
  } finally {
    await db.sql.unsafe(`drop trigger zz_breaks on ${table}`);
  }
  expect(await everything()).toBe(before);
}

// Guarantee: a sealed lead without a queue row is money that Google never hears of; a queue row without a proof is money nobody can explain.
describe("a change that is cut short leaves nothing behind", () => {
  test.each([
    ["public.sales", "insert"],
    ["public.sales", "update"],
    ["public.revenue_snapshots", "insert"],
    ["public.offline_conversion_queue", "insert"],
    ["private.queue_moves", "insert"],
    ["public.transition_proofs", "insert"],
    ["private.unsealed_proofs", "insert"],
    ["public.calls", "update"],
    ["public.hos_idempotency_keys", "insert"],
    ["public.hos_idempotency_keys", "update"],
  ])("a seal, at %s %s", async (table, event) => {
    const call = await newLead(db.sql, team);
    const key = randomUUID();
    const seal = () => change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000, note: "Maintenance" }, { key });
    await cutAt(table, event, seal);
    expect((await seal()).status).toBe(200); // the same request again goes through
  });

  test.each([
    ["public.sales", "update"],
    ["public.revenue_snapshots", "insert"],
    ["public.offline_conversion_queue", "insert"],
    ["public.transition_proofs", "insert"],
  ])("a correction of what Google was told, at %s %s", async (table, event) => {
    const call = await newLead(db.sql, team);
    const { body } = await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 });
    const later = new Date(Date.now() + 7 * 3_600_000);
    await succeed(db.sql, String(await claim(db.sql, String(body.saleId), later)), later);
    await cutAt(table, event, () => change(db.sql, { team }, "correct_sale", { id: body.saleId, amountCents: 430_000 }));
    await cutAt(table, event, () => change(db.sql, { team }, "cancel_sale", { id: body.saleId }));
  });
});

// Guarantee: the same when the app is killed between two statements: SIGKILL, in the middle of an open transaction.
test("a killed process leaves the lead as it was, and its key free", async () => {
  const call = await newLead(db.sql, team);
  const before = await everything();
  const key = randomUUID();
  const script = join(checkoutDir, "tests/support/seal-in-child.ts");
  const child = spawn(process.execPath, [script, db.adminUrl, team.siteId, team.operator.id, call, key], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "exit");
  const again = await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 }, { key, hash: "1".repeat(64) });
  expect(again).toMatchObject({ status: 200, replayed: false, body: { from: "intent", to: "sealed", version: 2 } });
  expect(before).not.toContain(key);
});
