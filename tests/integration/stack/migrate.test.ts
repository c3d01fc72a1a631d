import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { migrationsIn, supabaseDir } from "#scripts/db/supabase-dir.ts";
import { applyMigrations } from "#scripts/local/postgres/migrate.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let database: TestDatabase;
let dir = "";

beforeEach(async () => {
  database = await createTestDatabase();
  dir = mkdtempSync(join(tmpdir(), "opsmantik-migrations-"));
  cpSync(migrationsIn(supabaseDir), dir, { recursive: true });
  return async () => {
    rmSync(dir, { recursive: true, force: true });
    await database.drop();
  };
});

const write = (name: string, text: string) => writeFileSync(join(dir, name), text);
const history = () => database.sql`select * from supabase_migrations.schema_migrations where version like '3000%' order by version`;

// Guarantee: a database migrated here can be continued with the Supabase CLI, and the reverse.
test("migrations are kept in Supabase's own history, and a second run applies nothing", async () => {
  write("30000101000001_first.sql", "create table public.first_one (id int);\n-- why\ncomment on table public.first_one is 'a;b';\n");
  write("30000101000002_second_thing.sql", "insert into public.first_one values (1);");
  expect(await applyMigrations(database.adminUrl, dir)).toHaveLength(2);
  expect(await applyMigrations(database.adminUrl, dir)).toEqual([]);
  expect(await database.sql`select id from public.first_one`).toEqual([{ id: 1 }]);
  expect(await history()).toMatchObject([
    {
      version: "30000101000001",
      name: "first",
      statements: ["create table public.first_one (id int)", "-- why\ncomment on table public.first_one is 'a;b'"],
    },
    { version: "30000101000002", name: "second_thing", statements: ["insert into public.first_one values (1)"] },
  ]);
});

// Guarantee: a migration that fails half-way leaves no half behind; it can be corrected and run again.
test("a failing migration leaves nothing behind and names its line", async () => {
  write("30000102000001_broken.sql", "create table public.half (id int);\n\nselect no_such_column from public.half;");
  await expect(applyMigrations(database.adminUrl, dir)).rejects.toThrow(/30000102000001_broken\.sql line 3: .*no_such_column/);
  expect(await database.sql`select to_regclass('public.half') as half`).toEqual([{ half: null }]);
  expect(await database.sql`select from supabase_migrations.schema_migrations where version = '30000102000001'`).toHaveLength(0);
});

// Guarantee: no database is half of one version and half of another, which nobody could find the faults of.
test("a file that changed after it was applied is refused by name, and nothing is applied", async () => {
  write("30000103000001_edited.sql", "create table public.edited (id int);");
  await applyMigrations(database.adminUrl, dir);
  write("30000103000001_edited.sql", "create table public.edited (id bigint);");
  write("30000103000002_after.sql", "create table public.after_edited (id int);");
  await expect(applyMigrations(database.adminUrl, dir)).rejects.toThrow(/other versions of 30000103000001_edited\.sql/);
  expect(await database.sql`select to_regclass('public.after_edited')::text as name`).toEqual([{ name: null }]);
});

test("a database that has what the files have not is refused by name, and nothing is applied", async () => {
  write("30000106000001_gone.sql", "create table public.gone (id int);");
  await applyMigrations(database.adminUrl, dir);
  rmSync(join(dir, "30000106000001_gone.sql"));
  write("30000106000002_after.sql", "create table public.after_gone (id int);");
  await expect(applyMigrations(database.adminUrl, dir)).rejects.toThrow(/other versions of 30000106000001_gone\.sql/);
  expect(await database.sql`select to_regclass('public.after_gone')::text as name`).toEqual([{ name: null }]);
});

// Guarantee: two starts at once apply each file once.
test("two migrators at once never apply a file twice", async () => {
  write("30000104000001_once.sql", "create table public.only_once (id int);");
  const results = await Promise.all([applyMigrations(database.adminUrl, dir), applyMigrations(database.adminUrl, dir)]);
  expect(results.flat()).toEqual(["30000104000001_once.sql"]);
});

// Guarantee: Supabase skips a misnamed file in silence; here the mistake shows before it reaches production.
test("a misnamed migration and a version used twice are refused", async () => {
  write("3000_short.sql", "select 1");
  await expect(applyMigrations(database.adminUrl, dir)).rejects.toThrow(/3000_short\.sql/);
  rmSync(join(dir, "3000_short.sql"));
  write("30000105000001_a.sql", "select 1");
  write("30000105000001_b.sql", "select 1");
  await expect(applyMigrations(database.adminUrl, dir)).rejects.toThrow(/30000105000001/);
});
