import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callRpc } from "#lib/db/call-rpc.ts";
import { onceAnswer } from "#lib/http/answer-once.ts";
import { newLead } from "#tests/fixtures/leads.ts";
import { type ContractsApp, startContractsApp } from "#tests/support/contracts-app.ts";
import { untilSomebodyWaits } from "#tests/support/while-open.ts";

let app: ContractsApp;
let holder: postgres.Sql;
beforeAll(async () => {
  app = await startContractsApp();
  holder = postgres(app.db.adminUrl, { max: 1 });
  await app.db.sql.unsafe(holdAtStep);
});
afterAll(async () => {
  await holder.end();
  await app.stop();
});

/**
 * Only in this test's database: every statement that writes counts itself, and the one whose number is in private.hold waits for a
 * lock that the test has. The count ends with its transaction.
 */
const gate = 42;
const holdAtStep = `
create table private.hold (step int not null);
insert into private.hold values (0);
create function private.count_step() returns trigger language plpgsql security definer set search_path = '' as $$
declare
  v_step int := coalesce(nullif(current_setting('test.step', true), '')::int, 0) + 1;
begin
  perform set_config('test.step', v_step::text, true);
  if v_step = (select h.step from private.hold h) then
    perform pg_catalog.pg_advisory_xact_lock(${gate});
  end if;
  return null;
end $$;
do $$
declare
  v_table regclass;
begin
  for v_table in select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where n.nspname in ('public', 'private') and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'hold' loop
    execute format('create trigger zz_count_step after insert or update or delete on %s for each statement execute function private.count_step()', v_table);
  end loop;
end $$;`;

async function stateOf(id: string, key: string) {
  const [row] = await app.db.sql`
    select c.status, c.version, (select count(*)::int from public.transition_proofs p where p.entity_id = c.id) as proofs,
      (select count(*)::int from private.unsealed_proofs u join public.transition_proofs p on p.id = u.proof_id where p.entity_id = c.id) as listed,
      (select count(*)::int from public.sales s where s.call_id = c.id) as sales,
      (select count(*)::int from public.revenue_snapshots r join public.sales s on s.id = r.sale_id where s.call_id = c.id) as snapshots,
      (select count(*)::int from public.offline_conversion_queue q where q.call_id = c.id) as queued,
      (select count(*)::int from public.queue_transitions t join public.offline_conversion_queue q on q.id = t.queue_id where q.call_id = c.id) as history,
      (select count(*)::int from public.hos_idempotency_keys k where k.key = ${key}) as answers
    from public.calls c where c.id = ${id}`;
  return { ...row };
}
const nothing = { status: "intent", version: 1, proofs: 0, listed: 0, sales: 0, snapshots: 0, queued: 0, history: 0, answers: 0 };
const everything = { status: "sealed", version: 2, proofs: 1, listed: 1, sales: 1, snapshots: 1, queued: 1, history: 1, answers: 1 };

/** How many statements a seal by this endpoint is, counted by a run that is rolled back. */
async function countSteps(): Promise<number> {
  const id = await newLead(app.db.sql, app.team);
  let steps = 0;
  const undo = new Error("rolled back on purpose");
  await app.db.sql
    .begin(async (tx) => {
      await tx`select set_config('test.step', '0', true)`;
      await tx`select public.transition_contract_for_key(${app.teamKey.id}, ${tx.json({ contract: "call", id, to: "sealed", reason: "not" })}, 'count', ${"0".repeat(64)})`;
      steps = Number((await tx`select current_setting('test.step') as n`)[0]?.n);
      throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return steps;
}

/** Holds the gate while a child process makes the move, kills the child once it stands there, and ends the backend as told. */
async function killAt(step: number, end: "backend dies too" | "backend goes on", order: string): Promise<void> {
  await app.db.sql`update private.hold set step = ${step}`;
  await holder`select pg_advisory_lock(${gate})`;
  const child: ChildProcess = spawn(process.execPath, ["tests/support/rpc-in-child.ts", order], {
    env: { ...process.env, ...app.env },
    stdio: "ignore",
  });
  const ended = once(child, "exit");
  await untilSomebodyWaits(app.db.sql);
  child.kill("SIGKILL");
  await ended;
  if (end === "backend dies too")
    await app.db
      .sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await holder`select pg_advisory_unlock(${gate})`;
  while (
    (
      await app.db
        .sql`select from pg_stat_activity where datname = current_database() and application_name = 'opsmantik' and state = 'active'`
    ).length > 0
  );
  await app.db.sql`update private.hold set step = 0`;
}

// Guarantee: wherever the power goes out, a lead is sealed with all that belongs to it or not at all, and sending again finishes it once.
test("killed between any two statements, a move left nothing or everything, and the same key finishes it once", {
  timeout: 240_000,
}, async () => {
  const steps = await countSteps();
  expect(steps).toBeGreaterThan(8);
  for (let step = 1; step <= steps; step++) {
    // A backend that outlives its client commits from wherever it stood: the first and the last step show it.
    const ends = step === 1 || step === steps ? (["backend dies too", "backend goes on"] as const) : (["backend dies too"] as const);
    for (const end of ends) {
      const id = await newLead(app.db.sql, app.team);
      const key = randomUUID();
      const args = {
        p_key_id: app.teamKey.id,
        p_move: { contract: "call", id, to: "sealed", reason: "not" },
        p_key: key,
        p_request_hash: "0".repeat(64),
      };
      await killAt(step, end, JSON.stringify({ name: "transition_contract_for_key", args }));
      const died = end === "backend dies too";
      expect([step, end, await stateOf(id, key)]).toEqual([step, end, died ? nothing : everything]);
      const again = await callRpc("transition_contract_for_key", args, onceAnswer);
      expect([again.status, again.replayed]).toEqual([200, !died]);
      expect(await stateOf(id, key)).toEqual(everything);
    }
  }
});
