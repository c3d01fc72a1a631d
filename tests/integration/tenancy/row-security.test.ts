import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { createTeam, handOver, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let north: Team;
let south: Team;
let owners: Map<string, string>;

beforeAll(async () => {
  db = await createTestDatabase();
  const first = await createTeam(db.sql, "north");
  south = await createTeam(db.sql, "south", first.owner);
  north = await handOver(db.sql, first, "owner2@north.test");
  for (const team of [north, south]) {
    await callAs(db.sql, team.owner, (tx) => tx`select public.create_site_api_key(${team.siteId}, 'Script')`);
    await callAs(db.sql, team.owner, (tx) => tx`select public.invite_site_member(${team.siteId}, 'new@person.test', 'viewer')`);
  }
  owners = await ownersOfValues();
});
afterAll(() => db.drop());

const tables = ["sites", "site_members", "site_invitations", "site_api_keys"] as const;
type Seen = Record<(typeof tables)[number], string[]>;

/** A column that every reader may see and that tells whose row it is; the internal id of a site is readable by nobody. */
const columnOf = { sites: "public_id", site_members: "user_id", site_invitations: "id", site_api_keys: "id" };

/** Which site each visible value belongs to, looked up by the owner of the database. */
async function ownersOfValues(): Promise<Map<string, string>> {
  const rows = await db.sql<{ value: string; site: string }[]>`
    select public_id as value, id as site from public.sites
    union all select user_id::text, site_id from public.site_members
    union all select id::text, site_id from public.site_invitations
    union all select id::text, site_id from public.site_api_keys`;
  const names = new Map<string, string>([
    [north.siteUuid, "north"],
    [south.siteUuid, "south"],
  ]);
  return new Map(rows.map(({ value, site }) => [value, names.get(site) ?? "unknown"]));
}

/** Which sites' rows a person sees in each table, and of a team how many. */
async function seenBy(tx: postgres.TransactionSql, userId: string): Promise<Seen> {
  await tx`select set_config('request.jwt.claims', ${JSON.stringify({ sub: userId, role: "authenticated" })}, true)`;
  await tx`set local role authenticated`;
  const seen = {} as Seen; // filled for every table below
  for (const table of tables) {
    const rows = await tx.unsafe(`select ${columnOf[table]}::text as value from public.${table}`);
    seen[table] = rows.map((row) => owners.get(row.value) ?? "unknown").sort();
  }
  await tx`reset role`;
  return seen;
}

async function everyView(tx: postgres.TransactionSql): Promise<Record<string, Seen>> {
  const people = {
    northOwner: north.owner,
    northOperator: north.operator,
    northViewer: north.viewer,
    southOwner: south.owner,
    southViewer: south.viewer,
  };
  const views: Record<string, Seen> = {};
  for (const [name, person] of Object.entries(people)) views[name] = await seenBy(tx, person.id);
  return views;
}

const ownerOf = (site: string): Seen => ({
  sites: [site],
  site_members: [site, site, site],
  site_invitations: [site],
  site_api_keys: [site],
});
const memberOf = (site: string): Seen => ({ sites: [site], site_members: [site], site_invitations: [], site_api_keys: [] });
const expectedViews = {
  northOwner: ownerOf("north"),
  northOperator: memberOf("north"),
  northViewer: memberOf("north"),
  southOwner: ownerOf("south"),
  southViewer: memberOf("south"),
};

// Guarantee: no customer ever sees another customer's site, team, invitations or keys.
test("each role sees its own site's rows and nothing of another site", async () => {
  const views = await db.sql.begin(everyView);
  expect(views).toEqual(expectedViews);
});

// Guarantee: the test above would notice a broken policy. Mutation: each policy in turn lets everybody in.
test("opening any one policy is noticed", async () => {
  const policies = await db.sql`select policyname, tablename from pg_policies where schemaname = 'public'`;
  expect(policies.length).toBe(tables.length);
  for (const { policyname, tablename } of policies) {
    const undo = new Error("rolled back");
    await db.sql
      .begin(async (tx) => {
        await tx.unsafe(`alter policy ${policyname} on public.${tablename} using (true)`);
        expect(await everyView(tx), policyname).not.toEqual(expectedViews);
        throw undo;
      })
      .catch((error: unknown) => {
        if (error !== undo) throw error;
      });
  }
});

test("without a session nothing is readable", async () => {
  for (const table of tables) {
    await expect(
      db.sql.begin(async (tx) => {
        await tx`set local role anon`;
        await tx.unsafe(`select * from public.${table}`);
      }),
    ).rejects.toMatchObject({ code: "42501" });
  }
});

// Guarantee: a stolen session reveals neither how to forge a key nor the internal id that other systems must never see.
test.each([
  "select key_hash from public.site_api_keys",
  "select id from public.sites",
  "select site_id from public.site_members",
  "select * from public.site_invitations",
])("not even an owner may %s", async (statement) => {
  await expect(callAs(db.sql, north.owner, (tx) => tx.unsafe(statement))).rejects.toMatchObject({ code: "42501" });
});
