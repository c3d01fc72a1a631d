import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { baselineName, renderMigration } from "#scripts/db/render-migration.ts";
import { isReleased, migrationsIn, schemasIn, supabaseDir } from "#scripts/db/supabase-dir.ts";

// Guarantee: what ships is what people read and edit.
test.skipIf(isReleased(supabaseDir))("the migration is what the schemas say", () => {
  const migration = readFileSync(join(migrationsIn(supabaseDir), baselineName), "utf8");
  expect(migration, "run npm run db:render").toBe(renderMigration(schemasIn(supabaseDir)));
});

test("no line of SQL is longer than 100 columns, and no file than 250 lines", () => {
  const files = readdirSync(schemasIn(supabaseDir), { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith(".sql"));
  const tooLong = files.flatMap((path) => {
    const lines = readFileSync(join(schemasIn(supabaseDir), path), "utf8").split("\n");
    const wide = lines.flatMap((line, index) => (line.length > 100 ? [`${path}:${index + 1}`] : []));
    return lines.length > 251 ? [path, ...wide] : wide;
  });
  expect(files.length).toBeGreaterThan(100);
  expect(tooLong).toEqual([]);
});

describe("a folder of schemas", () => {
  let dir = "";
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "opsmantik-schemas-"));
    return () => rmSync(dir, { recursive: true, force: true });
  });
  const write = (files: Record<string, string>) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(dir, path, ".."), { recursive: true });
      writeFileSync(join(dir, path), text);
    }
  };
  /** The first words of each statement, in the order they run. */
  const rendered = () =>
    renderMigration(dir)
      .split(";\n")
      .map((text) => text.replace(/^(--.*|)\n/gm, "").trim())
      .filter((text) => text !== "" && !/^(re)?set /.test(text));

  // Guarantee: whoever writes a file need not think about the order of others.
  test("gives each object what it names, whatever file that is in", () => {
    write({
      "01_a/a.sql": "create trigger t on public.a execute function private.f();\ncreate view public.v as select * from public.a;",
      "02_b/b.sql":
        "insert into public.a values (1);\ncreate table public.a (id int default private.id());\ngrant select on public.a to x;",
      "03_c/c.sql": "create function private.f(r public.a) returns int as $$ select private.g() $$;",
      "04_d/d.sql": "create function private.id() returns int as $$ select 1 $$;\ncreate schema private;",
    });
    expect(rendered()).toEqual([
      "create schema private",
      "create function private.id() returns int as $$ select 1 $$",
      "create table public.a (id int default private.id())",
      "create view public.v as select * from public.a",
      "create function private.f(r public.a) returns int as $$ select private.g() $$",
      "create trigger t on public.a execute function private.f()",
      "grant select on public.a to x",
      "insert into public.a values (1)",
    ]);
  });

  // Guarantee: rewording a comment is no change of the database, so nobody's demo is built anew for it.
  test("keeps the comments of bodies and no others", () => {
    write({
      "01_a/a.sql":
        "-- Head.\n\n-- a: why\ncreate table public.a (  -- one\n  id int,   -- two\n  -- three\n  b text default '-- no; comment'\n);   -- four\ncreate function public.f() returns int as $$\n  -- five\n  select 1\n$$;",
    });
    expect(rendered()).toEqual([
      "create table public.a (\n  id int,\n  b text default '-- no; comment'\n)",
      "create function public.f() returns int as $$\n  -- five\n  select 1\n$$",
    ]);
  });

  test("is refused when two objects need each other, or when nobody knows when a statement may run", () => {
    write({
      "01_a/a.sql": "create table public.a (id int default private.f());",
      "01_a/b.sql": "create function private.f(a public.a) returns int as $$ select 1 $$;",
    });
    expect(rendered).toThrow("These need each other: public.a, private.f");
    write({ "01_a/b.sql": "vacuum public.a;" });
    expect(rendered).toThrow("01_a/b.sql has a statement that nobody knows when to run: vacuum public.a");
  });
});
