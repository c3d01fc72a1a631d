import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callAs, createTeam, handOver, type Team } from "#tests/support/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let north: Team;
let south: Team;

beforeAll(async () => {
  db = await createTestDatabase();
  const first = await createTeam(db.sql, "north");
  south = await createTeam(db.sql, "south", first.owner);
  north = await handOver(db.sql, first, "owner2@north.test");
  for (const team of [north, south]) {
    await callAs(db.sql, team.owner, (tx) => tx`select public.create_site_api_key(${team.publicId}, 'Script')`);
    await callAs(db.sql, team.owner, (tx) => tx`select public.invite_site_member(${team.publicId}, 'new@person.test', 'viewer')`);
  }
});
afterAll(() => db.drop());

const tables = ["sites", "site_members", "site_invitations", "site_api_keys"] as const;
type Seen = Record<(typeof tables)[number], string[]>;

const columnOf = { sites: "id", site_members: "site_id", site_invitations: "site_id", site_api_keys: "site_id" };

/** Which sites' rows a person sees in each table. */
async function seenBy(tx: postgres.TransactionSql, userId: string): Promise<Seen> {
  await tx`select set_config('request.jwt.claims', ${JSON.stringify({ sub: userId, role: "authenticated" })}, true)`;
  await tx`set local role authenticated`;
  const seen = {} as Seen; // filled for every table below
  for (const table of tables) {
    const rows = await tx.unsafe(`select distinct ${columnOf[table]}::text as site from public.${table} order by 1`);
    seen[table] = rows.map((row) => (row.site === north.siteId ? "north" : row.site === south.siteId ? "south" : "unknown"));
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

const ownerOf = (site: string): Seen => ({ sites: [site], site_members: [site], site_invitations: [site], site_api_keys: [site] });
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

test("the hash of an API key is readable by nobody, not even its owner", async () => {
  await expect(callAs(db.sql, north.owner, (tx) => tx`select key_hash from public.site_api_keys`)).rejects.toMatchObject({ code: "42501" });
});
