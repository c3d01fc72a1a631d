import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { compareCatalogs, readCatalog } from "#scripts/db/catalog.ts";
import { applySchemas, withScratchDatabases } from "#scripts/db/scratch-databases.ts";
import { migrationsIn, schemasIn, supabaseDir } from "#scripts/db/supabase-dir.ts";
import { writeMigration } from "#scripts/db/write-migration.ts";
import { applyMigrations } from "#scripts/local/postgres/migrate.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForScript, minutesLater, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { sharedStack } from "#tests/support/shared-stack.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let database: TestDatabase;
let dir = "";

beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "opsmantik-supabase-"));
  for (const part of ["schemas", "migrations"]) cpSync(join(supabaseDir, part), join(dir, part), { recursive: true });
  return () => rmSync(dir, { recursive: true, force: true });
});

/** Finds the text however it is broken into lines. */
const edit = (file: string, from: string, to: string) => {
  const path = join(schemasIn(dir), file);
  const before = readFileSync(path, "utf8");
  const words = from.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\\\(/g, "\\(\\s*");
  const after = before.replace(new RegExp(words.replace(/\\\)/g, "\\s*\\)").replace(/ /g, "\\s+"), "g"), to);
  if (after === before) throw new Error(`${file} has no ${from}`);
  writeFileSync(path, after);
};
const write = () => writeMigration({ serverUrl: sharedStack().adminUrl, supabaseDir: dir, name: "next", at: new Date() });
const read = (fileName = "") => readFileSync(join(migrationsIn(dir), fileName), "utf8");

/** A signature, a grant, a trigger, a policy, a view that others stand on, a body, an argument's name and a new table. */
function changeSchemas(): void {
  edit(
    "02_tenancy/site_access.sql",
    "p_role public.site_role) returns boolean",
    "p_role public.site_role, p_note text default null) returns boolean",
  );
  edit("02_tenancy/site_access.sql", "has_site_role(uuid, public.site_role) to", "has_site_role(uuid, public.site_role, text) to");
  edit("02_tenancy/sites.sql", "select (public_id,", "select (public_id, consent_mode,");
  edit("14_desk/desk_figures.sql", "amount_presets(text) to authenticated", "amount_presets(text) to service_role");
  edit("02_tenancy/site_members.sql", "after delete or update of role on", "after delete or update of role, user_id on");
  edit("02_tenancy/site_invitations.sql", "has_site_role(site_id, 'owner')", "has_site_role(site_id, 'operator')");
  edit(
    "11_delivery/provider_dispatches.sql",
    "where d.verdict is distinct from 'REJECTED'",
    "where d.verdict is distinct from 'REFUSED' and d.verdict is distinct from 'REJECTED'",
  );
  edit("01_ground/refusals.sql", "begin raise", "begin\n  -- As before.\n  raise");
  edit("01_ground/text.sql", "p_url", "p_address");
  writeFileSync(
    join(schemasIn(dir), "02_tenancy/site_notes.sql"),
    "create table public.site_notes (site_id uuid primary key references public.sites (id), note text not null);\n" +
      "create index notes_by_text on public.site_notes (note);\nalter table public.site_notes enable row level security;\n" +
      "create policy members_read_notes on public.site_notes for select to authenticated using (public.has_site_role(site_id, 'viewer'));\n" +
      "grant select (note) on public.site_notes to authenticated;\n",
  );
}

describe("after the release", () => {
  // Guarantee: an installation with years of data becomes the new version, with nobody's rights lost on the way.
  // Breaks when dependents are not dropped, when grants are forgotten after a drop, or when the order is that of the files.
  test("a signature, a grant, a trigger, a policy, a view and a new table upgrade a database with data", async () => {
    const { sql } = database;
    const team = await createQueueTeam(sql, "upgraded");
    const [sealed, other] = [await sealLead(sql, team), await sealLead(sql, team)];

    changeSchemas();
    const { fileName, left } = await write();
    expect(left).toEqual([]);
    expect(read(fileName)).not.toContain("By hand");
    expect(await applyMigrations(database.adminUrl, migrationsIn(dir))).toEqual([fileName]);

    await withScratchDatabases(sharedStack().adminUrl, async (create) => {
      const fresh = await create();
      await applySchemas(fresh.sql, schemasIn(dir));
      expect(compareCatalogs(await readCatalog(sql), await readCatalog(fresh.sql))).toEqual([]);
    });
    expect(await callAs(sql, team.viewer, (tx) => tx`select name from public.sites`)).toBe("upgraded");
    const { rows } = await claimForScript(sql, team, [sealed.id], minutesLater(1));
    expect(rows.map(({ id, valueCents }) => [id, valueCents])).toEqual([[sealed.id, 425_000]]);
    expect(await change(sql, { team }, "cancel_sale", { id: other.saleId })).toMatchObject({ status: 200 });
    expect(await write(), "nothing is left to write").toEqual({ fileName, left: [] });
  });

  const lastColumn = "amount_presets bigint[] not null default '{}',";

  // Guarantee: rows are never changed by a rule. Whoever changes a table decides how, and cannot forget to.
  test("a change of a table is named and left to a person, and the file is finished when it is written", async () => {
    edit("02_tenancy/sites.sql", lastColumn, `${lastColumn} note text,`);
    edit("02_tenancy/read_sites.sql", "'name', p_site.name", "'note', p_site.note, 'name', p_site.name");
    const first = await write();
    expect(first.left).toEqual(["column public.sites.note"]);
    expect(read(first.fileName)).toMatch(/-- By hand: column public\.sites\.note is new: \d+\. text, storage x\n/);
    expect(await write(), "a second run keeps the file").toEqual(first);

    const path = join(migrationsIn(dir), first.fileName ?? "");
    writeFileSync(path, read(first.fileName).replace(/-- By hand: column.*/, "alter table public.sites add column note text;"));
    expect(await write()).toEqual({ fileName: first.fileName, left: [] });
  });

  test("a file that cannot be applied says why", async () => {
    edit("02_tenancy/sites.sql", lastColumn, `${lastColumn} note text,`);
    edit("02_tenancy/sites.sql", "using (public.has_site_role(id, 'viewer'))", "using (note is null)");
    const { left } = await write();
    expect(left).toEqual([expect.stringMatching(/It cannot be applied yet\. \d+_next\.sql: column "note" does not exist/)]);
  });

  test("a body that names what is not there is refused before anything is written", async () => {
    edit("01_ground/text.sql", "url_path(p_url text)", "url_path(p_address text)");
    await expect(write()).rejects.toThrow(/private\.url_path\(text\): column "p_url" does not exist/);
  });

  test("schemas that did not change write nothing", async () => {
    expect(await write()).toEqual({ fileName: undefined, left: [] });
  });
});

test("before the release the command says what to use instead", () => {
  const { status, stderr } = spawnSync(process.execPath, ["scripts/db/migration.ts", "next"], { encoding: "utf8" });
  expect(status).toBe(1);
  expect(stderr).toContain("Nothing is released yet, so the migration is written anew each time: npm run db:render.");
});
