import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Catalog, compareCatalogs, readCatalog, readCatalogIn } from "#scripts/db/catalog.ts";
import { applySchemas, checkBodies, withScratchDatabases } from "#scripts/db/scratch-databases.ts";
import { schemasIn, supabaseDir } from "#scripts/db/supabase-dir.ts";
import { sharedStack } from "#tests/support/shared-stack.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let migrated: TestDatabase;
let catalog: Catalog;
beforeAll(async () => {
  migrated = await createTestDatabase();
  catalog = await readCatalog(migrated.sql);
});
afterAll(() => migrated.drop());

// Guarantee: what people read and edit is what runs.
test("the migrations make the database that the schemas say, and every function's body is sound", async () => {
  await withScratchDatabases(sharedStack().adminUrl, async (create) => {
    const { sql } = await create();
    await applySchemas(sql, schemasIn(supabaseDir));
    expect(compareCatalogs(catalog, await readCatalog(sql))).toEqual([]);
    await checkBodies(sql);
  });
});

test("a body that names what is not there is found by the name of its function", async () => {
  const broken = migrated.sql.begin(async (tx) => {
    await tx`set local check_function_bodies = off`;
    await tx`create or replace function private.masked_click(p_click text) returns text language sql as 'select private.no_such_thing(p_click)'`;
    await tx`set local check_function_bodies = on`;
    await checkBodies(tx);
  });
  await expect(broken).rejects.toThrow(/private\.masked_click\(text\): function private\.no_such_thing\(text\) does not exist/);
});

describe("the comparison sees", () => {
  // Guarantee: no difference is so small that a release could lose it.
  test.each([
    ["function private.masked_click(text)", "alter function private.masked_click(text) volatile"],
    ["function public.open_leads()", "alter function public.open_leads() security invoker"],
    ["function public.open_leads()", "alter function public.open_leads() reset search_path"],
    ["function grant public.open_leads()", "grant execute on function public.open_leads() to anon"],
    ["function grant public.open_leads()", "revoke execute on function public.open_leads() from authenticated"],
    ["table grant public.sites", "grant select on public.sites to anon"],
    ["column grant public.sites.id", "grant select (id) on public.sites to authenticated"],
    ["schema grant private", "grant usage on schema private to authenticated"],
    ["default privilege postgres in public r", "alter default privileges in schema public grant select on tables to anon"],
    ["table public.sites", "alter table public.sites disable row level security"],
    ["table public.sites", "alter table public.sites set (fillfactor = 50)"],
    ["column public.sites.name", "alter table public.sites alter column name set default 'x'"],
    ["column public.sites.name", "alter table public.sites alter column name drop not null"],
    ["column public.sites.note", "alter table public.sites add column note text"],
    ["constraint name_is_plain_text on public.sites", "alter table public.sites drop constraint name_is_plain_text"],
    ["index public.keys_of_a_site", "drop index public.keys_of_a_site"],
    ["trigger sites_are_never_deleted on public.sites", "alter table public.sites disable trigger sites_are_never_deleted"],
    ["policy members_see_their_site on public.sites", "alter policy members_see_their_site on public.sites to anon"],
    ["view private.delivered_sales", "alter view private.delivered_sales set (security_invoker = true)"],
    ["domain private.free_waits", "alter domain private.free_waits drop constraint free_waits_are_bounded"],
    ["type public.site_role", "alter type public.site_role add value 'guest'"],
    ["role opsmantik_app", "alter role opsmantik_app set statement_timeout = '1s'"],
    ["comment table public.sites", "comment on table public.sites is 'customers'"],
    [
      "row contract_moves sale/1 DRAFT CONFIRMED",
      "update public.contract_moves set undo_only = true where from_state = 'DRAFT' and to_state = 'CONFIRMED'",
    ],
  ])("%s: %s", async (key, statement) => {
    const undone = new Error("undone");
    const changed = migrated.sql.begin(async (tx) => {
      await tx.unsafe(statement);
      const found = compareCatalogs(catalog, await readCatalogIn(tx));
      expect(found.map(({ kind, name }) => `${kind} ${name}`)).toEqual([key]);
      throw undone;
    });
    await expect(changed).rejects.toBe(undone);
  });
});
