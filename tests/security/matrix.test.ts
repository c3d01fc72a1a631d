import type postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { become } from "#tests/fixtures/act-as.ts";
import { sealLead } from "#tests/fixtures/queue.ts";
import { createPerson, createTeam, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

/** Who may call a function: a member in at least this role, or anybody with an account, who then sees or changes only what is theirs. */
type Least = "person" | "viewer" | "operator" | "owner";
const list = (names: string) => names.trim().split(/\s+/);
const functionsOf: Record<Least, string[]> = {
  person: list(
    "accept_invitation decline_invitation delete_my_account has_site_role list_contract_moves list_my_sites my_account open_leads search_sites sites_overview",
  ),
  viewer:
    list(`amount_presets billing_overview delivery_days desk_figures desk_lead desk_leads get_invoice get_proof get_site ingest_status list_activity
    list_counted_events list_invoices list_queue_actions list_sales preview_export_page preview_pause provider_connection queue_charts queue_row_story
    queue_rows queue_stats read_site_ceilings site_delivery site_version why_not_counted`),
  operator:
    list(`act_on_queue add_lead_note cancel_sale change_call complete_adjustment_by_hand confirm_sale correct_sale import_sales list_failed_events
    list_usage_origins preview_import preview_queue_action replay_failed_events seal_call send_again set_lead_contact transition_contract undo_call undo_queue_action undo_sale`),
  owner:
    list(`add_site_domain consent_cost site_setup skip_calls call_event_secret change_member_role connect_provider create_site create_site_api_key disconnect_provider erase_person export_person
    invite_site_member list_erasures preview_erasure replace_call_event_secret set_lead_share set_site_ceilings set_site_retention site_retention
    list_site_api_keys list_site_members narrow_site_api_key pause_sending preview_delivery_switch record_invitation_mail remove_member revoke_site_api_key
    script_status set_conversion_actions set_site_archived set_site_delivery set_site_privacy switch_delivery update_site
    withdraw_invitation`),
};
/** What a signed-in person may read of a table without a function, within their sites. Everything else has no grant at all. */
const readableColumns: Record<string, string[]> = {
  site_api_keys: list("id name prefix created_at revoked_at scopes scope_used"),
  site_invitations: list("id email role created_at expires_at"),
  site_members: list("user_id role created_at"),
  sites: list("public_id name domains currency timezone locale oci_sync_method created_at archived_at"),
};

/** What outlives a session, takes a person's data away or hands it out. Everything else can be taken back, and leaves a line in the activity log. */
const needsFreshSignIn =
  list(`change_member_role connect_provider create_site_api_key delete_my_account disconnect_provider erase_person export_person
  invite_site_member narrow_site_api_key preview_erasure remove_member replace_call_event_secret revoke_site_api_key set_site_retention`);

let db: TestDatabase;
let team: Team;
let stranger: Person;
let ids: Record<string, string>;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "matrix");
  stranger = await createPerson(db.sql, "stranger@matrix.test");
  const { id, saleId } = await sealLead(db.sql, team);
  const [row] =
    await db.sql`select s.call_id, (select p.id from public.transition_proofs p where p.contract = 'sale' or p.contract = 'call' limit 1) as proof_id from public.sales s where s.id = ${saleId}`;
  ids = { p_id: id, p_sale_id: saleId, p_call_id: String(row?.call_id), p_proof_id: String(row?.proof_id) };
});
afterAll(() => db.drop());

interface Callable {
  name: string;
  names: string[];
  types: string[];
  needed: number;
}

/** Every function that signed-in people may execute, with its arguments. */
const callables = () => db.sql<Callable[]>`
  select p.proname as name, coalesce(p.proargnames, '{}') as names, p.pronargs - p.pronargdefaults as needed,
    array(select format_type(t, null) from unnest(p.proargtypes) t) as types
  from pg_proc p where p.pronamespace = 'public'::regnamespace and has_function_privilege('authenticated', p.oid, 'execute')
  order by 1`;

const ofType: Record<string, string> = {
  text: "''",
  uuid: "gen_random_uuid()",
  jsonb: "'{}'",
  boolean: "false",
  integer: "1",
  bigint: "1",
  "text[]": "'{}'",
  "uuid[]": "'{}'",
  date: "current_date",
  "timestamp with time zone": "now() + interval '1 hour'",
  site_role: "'viewer'",
};

/** A call of the function for the team's site: with ids that exist where it takes one, and with nothing of use elsewhere. */
function callOf({ name, names, types, needed }: Callable): string {
  const known: Record<string, string> = {
    p_public_id: team.siteId,
    ...(name === "transition_contract" && { p_move: JSON.stringify({ contract: "call", id: ids.p_call_id, to: "junk" }), p_key: "matrix" }),
    ...(name === "narrow_site_api_key" && { p_scopes: "{sales}" }),
    ...ids,
  };
  const args = types.flatMap((type, index) => {
    const argument = names[index] ?? "";
    const value = known[argument] ? `'${known[argument]}'` : ofType[type];
    if (value === undefined) throw new Error(`${name} takes a ${type}: say in ofType how to make one.`);
    return index < needed || argument === "p_public_id" ? [`${argument} => ${value}`] : [];
  });
  return `select public.${name}(${args.join(", ")})`;
}

/** The code that a call ends with, "ok" when it answers. Nothing stays. */
async function outcome(statement: string, as: (tx: postgres.TransactionSql) => Promise<unknown>): Promise<string> {
  const rolledBack = new Error("ok");
  return db.sql
    .begin(async (tx) => {
      await as(tx);
      await tx.unsafe(statement);
      throw rolledBack;
    })
    .then(String, (error: { code?: string; message: string }) => error.code ?? error.message);
}

/** The sign-in of this transaction's person was so many seconds ago. */
const agedBy = (tx: postgres.TransactionSql, seconds: number) => tx`
  select set_config('request.jwt.claims', jsonb_set(c.claims, '{amr,0,timestamp}', to_jsonb((c.claims #>> '{amr,0,timestamp}')::bigint - ${seconds}))::text, true)
  from (select current_setting('request.jwt.claims')::jsonb as claims) c`;
const asPerson = (person: Person) => (tx: postgres.TransactionSql) => become(tx, person.id);
const refusals = ["42501", "PT401", "PT403"];

/** Whom a function lets in, by calling it as each of them. */
async function admitted(callable: Callable): Promise<string[]> {
  const statement = callOf(callable);
  const people = { stranger, viewer: team.viewer, operator: team.operator, owner: team.owner };
  const in_: string[] = [];
  for (const [who, person] of Object.entries(people)) {
    const code = await outcome(statement, asPerson(person));
    // An id that does not exist is found by nobody; a member in too low a role is told so before.
    const isUnknown = code === "PT404" && (who === "stranger" || functionsOf.viewer.includes(callable.name));
    if (!refusals.includes(code) && !isUnknown) in_.push(who);
  }
  return in_;
}

const leastOf = (name: string) => (Object.keys(functionsOf) as Least[]).find((least) => functionsOf[least].includes(name));
const expected: Record<Least, string[]> = {
  person: ["stranger", "viewer", "operator", "owner"],
  viewer: ["viewer", "operator", "owner"],
  operator: ["operator", "owner"],
  owner: ["owner"],
};
/** Members get the same 404 as strangers for what does not exist; other tests show what exists (billing-routes, invitations). */
const answersNotFound = ["get_invoice", "accept_invitation", "decline_invitation"];

describe("functions", () => {
  test("every function that people may call has a line, and no line is left over", async () => {
    expect((await callables()).map(({ name }) => name)).toEqual(Object.values(functionsOf).flat().toSorted());
  });

  // Guarantee: a role check that is removed, weakened or forgotten is noticed. Mutation: below.
  test("each lets in exactly the roles of its line", async () => {
    const wrong: Record<string, string[]> = {};
    for (const callable of await callables()) {
      if (answersNotFound.includes(callable.name)) continue;
      const in_ = await admitted(callable);
      if (in_.join() !== expected[leastOf(callable.name) ?? "owner"].join()) wrong[callable.name] = in_;
    }
    expect(wrong).toEqual({});
  });

  // Guarantee: whoever adds a function decides whether a copied session is enough for it. Mutation: leave the question out of set_site_retention.
  test("a session that was copied an hour ago: these ask for a new sign-in, and no others do", async () => {
    const asked: string[] = [];
    for (const callable of await callables()) {
      const [fresh, old] = [asPerson(team.owner), (tx: postgres.TransactionSql) => become(tx, team.owner.id).then(() => agedBy(tx, 3_600))];
      if ((await outcome(callOf(callable), old)) === "PT403" && (await outcome(callOf(callable), fresh)) !== "PT403")
        asked.push(callable.name);
    }
    expect(asked).toEqual(needsFreshSignIn.toSorted());
  });

  test("a stranger learns nothing from those that answer 404 for what does not exist", async () => {
    for (const callable of (await callables()).filter(({ name }) => answersNotFound.includes(name)))
      expect([callable.name, await outcome(callOf(callable), asPerson(stranger))]).toEqual([callable.name, "PT404"]);
  });

  test("without an account nothing can be called", async () => {
    for (const callable of await callables())
      expect([callable.name, await outcome(callOf(callable), (tx) => tx`set local role anon`)]).toEqual([callable.name, "42501"]);
  });

  test("an owner's check that becomes a viewer's shows in the matrix", async () => {
    const callable = (await callables()).find(({ name }) => name === "set_site_privacy");
    const [made] = await db.sql`select pg_get_functiondef('public.set_site_privacy'::regproc) as code`;
    const code = String(made?.code);
    expect(code).toContain("'owner'");
    await db.sql.unsafe(code.replace("'owner'", "'viewer'"));
    expect(callable && (await admitted(callable))).toEqual(["viewer", "operator", "owner"]);
    await db.sql.unsafe(code);
    expect(callable && (await admitted(callable))).toEqual(["owner"]);
  });
});

describe("tables", () => {
  // Guarantee: a column of a table reaches a person only if somebody wrote it here.
  test("people read the columns of this list and no others; without an account nobody reads any", async () => {
    const columns = await db.sql<{ role: string; relation: string; names: string[] }[]>`
      select r.role, c.oid::regclass::text as relation, array_agg(a.attname::text order by a.attnum) as names
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        cross join unnest(array['anon', 'authenticated', 'service_role', 'opsmantik_app']) r (role)
      where n.nspname in ('public', 'private') and c.relkind in ('r', 'p', 'v', 'm')
        and has_column_privilege(r.role, c.oid, a.attnum, 'select')
      group by 1, 2 order by 1, 2`;
    expect(columns.filter(({ role }) => role !== "authenticated")).toEqual([]);
    expect(Object.fromEntries(columns.map(({ relation, names }) => [relation, names]))).toEqual(readableColumns);
  });

  test("a stranger sees no row of any of them, and a viewer only rows of their own site", async () => {
    const other = await createTeam(db.sql, "other", team.owner);
    const members = await db.sql`select user_id from public.site_members m join public.sites s on s.id = m.site_id
      where s.public_id = ${other.siteId}`;
    expect(members.length).toBe(3);
    for (const [relation, [column]] of Object.entries(readableColumns)) {
      const seenBy = (person: Person) =>
        db.sql.begin(async (tx) => {
          await become(tx, person.id);
          return (await tx.unsafe(`select ${column} from ${relation}`)).length;
        });
      expect([relation, await seenBy(stranger)]).toEqual([relation, 0]);
      const all = Number((await db.sql.unsafe(`select count(*) from ${relation}`))[0]?.count);
      if (all > 0) expect([relation, (await seenBy(team.viewer)) < all]).toEqual([relation, true]);
    }
  });
});
