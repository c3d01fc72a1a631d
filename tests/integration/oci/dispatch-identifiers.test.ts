import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { claimForScript, claimForWorker, minutesLater, readRow, sealLead } from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { recordVisit } from "#tests/fixtures/record-visit.ts";
import { callIn, service } from "#tests/fixtures/service.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createQueueTeam(db.sql, "identifiers");
});
afterAll(() => db.drop());

const kept = (ids: string[]) => db.sql`select * from public.dispatch_identifiers where queue_id = any (${ids}) order by queue_id`;
const ack = (ids: string[], minute: number) =>
  service(db.sql, "ack_offline_conversions", { p_site_id: team.siteUuid, p_ids: ids }, minutesLater(minute));
const recover = (minute: number) => service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(minute));
const withdraw = (visitor: string, minute: number) =>
  recordVisit(db.sql, team.siteUuid, visitor, [{ at: minutesLater(minute), url: "https://identifiers.test/", marketingConsent: false }]);

async function handOut(count: number): Promise<{ id: string; saleId: string }[]> {
  const rows = [];
  for (let made = 0; made < count; made++) rows.push(await sealLead(db.sql, team));
  const ids = rows.map(({ id }) => id);
  await claimForScript(db.sql, team, ids, minutesLater(1));
  return rows;
}

/** The hash as anybody can compute it who has the ids and the salt. */
const hashOf = ({ salt, gclid, wbraid, gbraid, customer_hash, email_hash }: Record<string, unknown>) =>
  createHash("sha256")
    .update(`[${[salt, gclid, wbraid, gbraid, customer_hash, email_hash].map((value) => JSON.stringify(value)).join(", ")}]`)
    .digest("hex");

/** In how many rows of the whole database a text occurs. */
async function occurrences(text: string): Promise<number> {
  const tables = await db.sql<{ name: string }[]>`select c.oid::regclass::text as name from pg_class c
    join pg_namespace n on n.oid = c.relnamespace where n.nspname in ('public', 'private') and c.relkind = 'r'`;
  let found = 0;
  for (const { name } of tables) {
    const [row] = await db.sql.unsafe(`select count(*)::int as n from ${name} t where t::text like '%' || $1 || '%'`, [text]);
    found += Number(row?.n);
  }
  return found;
}

// Guarantee: who asks what we sent of them can be shown it, and who asks to be forgotten is.
// Mutation that breaks it: one salt for the whole batch; the salt on the dispatch.
test("what was handed out can be proven while it is kept, and from the hash alone not any more", async () => {
  const [first, second] = await handOut(2);
  if (!first || !second) throw new Error("Two rows were handed out.");
  await ack([first.id, second.id], 2);
  const [mine, theirs] = await kept([first.id, second.id]);
  expect([mine?.gclid, mine?.handed_at]).toEqual([expect.stringMatching(/^gclid-/), minutesLater(1)]);
  expect(mine?.salt).not.toBe(theirs?.salt);
  const [dispatch] = await db.sql`select d.identifiers_hash as hash, q.identifiers_hash as on_row from public.provider_dispatches d
    join public.offline_conversion_queue q on q.id = d.queue_id where d.queue_id = ${first.id}`;
  expect({ ...dispatch }).toEqual({ hash: hashOf(mine ?? {}), on_row: hashOf(mine ?? {}) });

  await db.sql`select private.forget_identifiers(${[first.saleId]})`;
  expect((await kept([first.id, second.id])).map(({ queue_id }) => queue_id)).toEqual([second.id]);
  // Whoever still knows the click id lacks the salt: it is nowhere, and what is left of the batch does not help.
  expect(await occurrences(String(mine?.salt))).toBe(0);
  expect(hashOf({ ...mine, salt: theirs?.salt })).not.toBe(dispatch?.hash);
  expect(await occurrences(String(dispatch?.hash))).toBe(1); // the row, which is the dispatch too
});

test("a later hand-out takes the place of the earlier one", async () => {
  const [row] = await handOut(1);
  const [before] = await kept([String(row?.id)]);
  await recover(20);
  await db.sql`update public.sales set wbraid = 'wbraid-2', gclid = null where id = ${String(row?.saleId)}`;
  await claimForScript(db.sql, team, [String(row?.id)], minutesLater(21));
  const after = await kept([String(row?.id)]);
  expect(after).toMatchObject([{ gclid: null, wbraid: "wbraid-2", handed_at: minutesLater(21) }]);
  expect(after[0]?.salt).not.toBe(before?.salt);
  const [stored] = await db.sql`select identifiers_hash as hash from public.offline_conversion_queue where id = ${String(row?.id)}`;
  expect(stored?.hash).toBe(hashOf(after[0] ?? {}));
});

// Guarantee: a claim of plain rows writes no click id again, and what is kept is still what left, number and all.
// Mutation that breaks it: a claim that keeps the hash from the queue although it hands out a number; or one that hands out what was forgotten.
test("click ids are noted when a row is queued; a worker's claim adds what the customer agreed to since", async () => {
  const api = await createApiTeam(db.sql, "identifiers-api", team.owner);
  const [silent, agreed, forgotten] = [
    await sealLead(db.sql, api, { step: { visitor: "silent", phone: "+905321234567" } }),
    await sealLead(db.sql, api, { step: { visitor: "agrees-later", phone: "+905321234567" } }),
    await sealLead(db.sql, api, { step: { visitor: "forgotten" } }),
  ];
  const ids = [silent.id, agreed.id, forgotten.id];
  const queued = await kept(ids);
  expect(queued.map(({ gclid, customer_hash }) => [/^gclid-/.test(gclid), customer_hash])).toEqual(ids.map(() => [true, null]));
  const choice = { visitor: "agrees-later", scopes: ["analytics", "marketing"], ageMs: 0 };
  await service(db.sql, "record_consent", { p_site_id: api.siteUuid, p_choice: choice }, minutesLater(1));
  await db.sql`select private.forget_identifiers(${[forgotten.saleId]})`;
  const { rows } = await claimForWorker(db.sql, api, { at: minutesLater(2) });
  expect(rows.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  const handed = await kept(ids);
  const stored = await db.sql`select identifiers_hash as hash from public.offline_conversion_queue where id = any (${ids}) order by id`;
  expect(stored.map(({ hash }) => hash)).toEqual(handed.map(hashOf));
  const of = (id: string, list: typeof handed) => list.find(({ queue_id }) => queue_id === id);
  expect(of(silent.id, handed)).toEqual(of(silent.id, queued));
  expect(of(agreed.id, handed)).toMatchObject({ customer_hash: expect.any(String), handed_at: minutesLater(2) });
  expect(of(agreed.id, handed)?.salt).not.toBe(of(agreed.id, queued)?.salt);
  expect(of(forgotten.id, handed)).toMatchObject({ handed_at: minutesLater(2) });
});

// Guarantee: a plain row whose sale may not be sent is left to the claim that knows why, and holds up nobody: no change of a sale leaves one behind,
// so the change is made past its trigger. Mutations that break it: a claim that leaves it plain; one that puts its hash or its number to the next row.
test("a plain row that may not go is left, and its neighbours are handed out with their own ids", async () => {
  const api = await createApiTeam(db.sql, "identifiers-left", team.owner);
  const [first, left, agreed] = [
    await sealLead(db.sql, api, { step: { visitor: "first" } }),
    await sealLead(db.sql, api, { step: { visitor: "left", phone: "+905321234568" } }),
    await sealLead(db.sql, api, { step: { visitor: "agrees", phone: "+905321234569" } }),
  ];
  const choice = { visitor: "agrees", scopes: ["analytics", "marketing"], ageMs: 0 };
  await service(db.sql, "record_consent", { p_site_id: api.siteUuid, p_choice: choice }, minutesLater(1));
  await db.sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`update public.sales set status = 'CANCELED', amount_cents = 0 where id = ${left.saleId}`;
  });
  const { rows } = await claimForWorker(db.sql, api, { at: minutesLater(2) });
  expect(rows.map(({ id }) => id)).toEqual([first.id, agreed.id]);
  expect(await readRow(db.sql, left.id)).toMatchObject({ is_plain: false, status: "QUEUED", attempt_count: 0 });
  const handed = await kept([first.id, agreed.id]);
  const stored = [await readRow(db.sql, first.id), await readRow(db.sql, agreed.id)];
  expect(stored.map((row) => row.identifiers_hash)).toEqual(handed.map(hashOf));
  expect(handed.map(({ customer_hash }) => customer_hash)).toEqual([null, expect.any(String)]);
  const [lease] = await db.sql`select row_ids, claimed_count from private.queue_leases where site_id = ${api.siteUuid}`;
  expect(lease).toEqual({ row_ids: [first.id, agreed.id], claimed_count: 2 });
});

// Guarantee: consent that is withdrawn while a row is in flight is honoured when the row comes back, however it ended.
// Mutation that breaks it: drop forget_identifiers from follow_ledger, or from complete_rows.
test.each([
  ["is recovered", (_id: string) => recover(20)],
  ["arrived after all", (id: string) => ack([id], 20)],
])("a row that was in flight at a withdrawal and %s leaves no ids behind", async (_how, end) => {
  const visitor = `withdraws-${_how}`;
  const { id } = await sealLead(db.sql, team, { step: { visitor } });
  await claimForScript(db.sql, team, [id], minutesLater(1));
  await withdraw(visitor, 2);
  await end(id);
  expect(await kept([id])).toEqual([]);
});

// Guarantee: nothing is handed out behind the back of somebody who has just asked to be forgotten.
// Mutation that breaks it: delete without locking the rows.
test("a claim under way at the moment of the erasure is waited for, and what it wrote is gone", async () => {
  const { id, saleId } = await sealLead(db.sql, team);
  await whileOpen(
    db.sql,
    async (tx) => {
      await tx`select set_config('opsmantik.now', ${minutesLater(1).toISOString()}, true)`;
      await callIn(tx, "claim_offline_conversion_rows_for_script_export", { p_ids: [id], p_site_id: team.siteUuid });
    },
    () => db.sql`select private.forget_identifiers(${[saleId]})`,
  );
  expect((await readRow(db.sql, id)).status).toBe("PROCESSING");
  expect(await kept([id])).toEqual([]);
});

test("after 90 days they are purged, and nothing younger", async () => {
  const [row] = await handOut(1);
  const purge = (minute: number) => service(db.sql, "purge_dispatch_identifiers", {}, minutesLater(minute));
  const day = 24 * 60;
  const [before] = await db.sql`select count(*)::int as n from public.dispatch_identifiers`;
  expect(await purge(90 * day)).toEqual({ purged: 0 });
  expect(await purge(90 * day + 22)).toEqual({ purged: before?.n });
  expect(await kept([String(row?.id)])).toEqual([]);
});

test("no role reads them", async () => {
  const readers = await db.sql`select r from unnest(array['anon', 'authenticated', 'service_role', 'opsmantik_app']) r
    where has_table_privilege(r, 'public.dispatch_identifiers', 'select')`;
  expect(readers).toEqual([]);
});
