import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "writers");
});
afterAll(() => db.drop());

async function seal(step = {}) {
  const call = await newLead(db.sql, team, step);
  const { body } = await change(db.sql, { team }, "seal_call", { id: call, amountCents: 425_000 });
  return { call, sale: String(body.saleId) };
}

/** As the owner of the database, past every function: a row for a sale, made from another row. */
const insertRow = (sale: string, kind = "CONVERSION", site = team.siteUuid) => db.sql`
  insert into public.offline_conversion_queue (site_id, sale_id, kind, order_id, snapshot_id, value_cents, currency, conversion_time, click_expires_at,
    not_before, created_at, updated_at)
  values (${site}, ${sale}, ${kind}, 'om_by_hand', gen_random_uuid(), ${kind === "RETRACT" ? 0 : 100}, 'TRY', now(), now(), now(), now(), now())`;

// Guarantee: Iron Seal. Nothing that no operator has sealed is on its way to Google, whoever writes.
describe("nothing unsealed is on the queue", () => {
  test("of all functions that anybody may call, only those that seal can reach the insert", async () => {
    // Walks the text of every function: who names the queue in an insert, who calls those, and so on up to what is granted.
    const functions = await db.sql<{ name: string; body: string; granted: boolean }[]>`
      select p.proname as name, p.prosrc as body, n.nspname = 'public' and (has_function_privilege('authenticated', p.oid, 'execute')
        or has_function_privilege('opsmantik_app', p.oid, 'execute') or has_function_privilege('anon', p.oid, 'execute')) as granted
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname in ('public', 'private')`;
    const writers = new Set(
      functions.filter(({ body }) => /insert into public\.offline_conversion_queue/.test(body)).map(({ name }) => name),
    );
    expect([...writers]).toEqual(["enqueue"]);
    for (let grew = true; grew; ) {
      const callers = functions.filter(
        ({ name, body }) => !writers.has(name) && [...writers].some((w) => new RegExp(`\\.${w}\\b`).test(body)),
      );
      for (const { name } of callers) writers.add(name);
      grew = callers.length > 0;
    }
    const reachable = functions.filter(({ name, granted }) => granted && writers.has(name)).map(({ name }) => name);
    // Each of these was thought about: a seal, or a success whose sale was sealed before.
    expect(reachable.sort()).toEqual(knownWriters);
  });

  test("a draft's, a cancelled sale's and a blocked sale's row is refused even to the owner", async () => {
    const sealed = await seal();
    await expect(insertRow(sealed.sale)).rejects.toMatchObject({ code: "23505" }); // it has its row
    const cancelled = await seal();
    await change(db.sql, { team }, "cancel_sale", { id: cancelled.sale });
    const blocked = await seal({ gclid: null });
    const other = await createTeam(db.sql, "others", team.owner);
    for (const [sale, site] of [
      [cancelled.sale, team.siteUuid],
      [blocked.sale, team.siteUuid],
      [sealed.sale, other.siteUuid],
    ] as const) {
      for (const kind of ["CONVERSION", "RESTATE", "RETRACT"])
        await expect(insertRow(sale, kind, site)).rejects.toMatchObject({ message: "SALE_NOT_SEALED" });
    }
    await expect(insertRow(sealed.sale, "RETRACT")).rejects.toMatchObject({ message: "SALE_NOT_SEALED" }); // Google was told nothing yet
  });

  test("what waits for a worker is what is sealed, and leaves when it is not sealed any more", async () => {
    const { call, sale } = await seal();
    const open = await newLead(db.sql, team);
    await change(db.sql, { team }, "change_call", { id: open, to: "qualified" });
    const pending = async () => {
      const later = new Date(Date.now() + 7 * 3_600_000).toISOString();
      return await db.sql.begin(async (tx) => {
        await tx`select set_config('opsmantik.now', ${later}, true)`;
        const [row] = await tx`select public.get_pending_conversions_for_worker(${team.siteUuid}, 1000) as rows`;
        return row?.rows.map((conversion: { id: string }) => conversion.id);
      });
    };
    const [row] = await db.sql`select id from public.offline_conversion_queue where sale_id = ${sale}`;
    expect(await pending()).toContain(row?.id);
    const unsealed = await db.sql`select q.id from public.offline_conversion_queue q join public.sales s on s.id = q.sale_id
      where s.seal_status <> 'sealed' and q.id = any (${await pending()})`;
    expect(unsealed).toHaveLength(0);
    await change(db.sql, { team }, "undo_call", { id: call });
    expect(await pending()).not.toContain(row?.id);
  });
});

const knownWriters = [
  "ack_offline_conversions",
  "act_on_queue",
  "cancel_sale",
  "change_call",
  "complete_adjustment_by_hand",
  "confirm_sale",
  "confirm_sale_and_enqueue",
  "correct_sale",
  "erase_person",
  "fail_offline_conversions",
  "import_sales",
  "oci_attempt_cap",
  "record_consent", // a correction that was given up may have left a later one unsaid
  "record_consents",
  "record_verdicts", // what Google rejected may be sent again
  "recover_stuck_offline_conversion_jobs",
  "seal_call",
  "send_again",
  "settle_offline_conversion_jobs",
  "store_events", // the click of a lead that was sealed without one
  "transition_contract",
  "transition_contract_for_key",
  "undo_call",
  "undo_queue_action",
  "undo_sale",
];
