import { describe, expect, test } from "vitest";
import { splitSql } from "#scripts/local/postgres/split-sql.ts";

// Guarantee: the history we write equals what `supabase db push` would have written, so that both agree on what is applied.
describe("splitSql", () => {
  test.each([
    ["plain statements", "select 1; select 2;", ["select 1", "select 2"]],
    ["a last statement without semicolon", "select 1;\nselect 2\n", ["select 1", "select 2"]],
    ["nothing", " ;;\n ; ", []],
    ["a quoted semicolon", "select 'a;b'; select \"c;d\";", ["select 'a;b'", 'select "c;d"']],
    ["doubled quotes", "select 'it''s; fine'; select 2", ["select 'it''s; fine'", "select 2"]],
    ["a backslash in a plain string", "select '\\'; select 2", ["select '\\'", "select 2"]],
    ["a backslash in an E string", "select E'\\';'; select 2", ["select E'\\';'", "select 2"]],
    ["a doubled quote and a backslash in an E string", "select E'a''\\';'; select 2", ["select E'a''\\';'", "select 2"]],
    ["dollar quotes", "do $$ begin; end $$; select 2", ["do $$ begin; end $$", "select 2"]],
    ["tagged dollar quotes with others inside", "do $a$ select $$;$$; $a$; select 2", ["do $a$ select $$;$$; $a$", "select 2"]],
    ["parameters, which are no quotes", "select $1; select $2", ["select $1", "select $2"]],
    ["a dollar inside a name", "select a$b$; select c$b$", ["select a$b$", "select c$b$"]],
    ["a line comment", "-- it's; a comment\nselect 1; select 2", ["-- it's; a comment\nselect 1", "select 2"]],
    ["nested block comments", "/* a /* ; */ ; */ select 1; select 2", ["/* a /* ; */ ; */ select 1", "select 2"]],
    [
      "an atomic body",
      "create function f() returns int begin atomic select case when true then 1 end; select 2; end; select 3",
      ["create function f() returns int begin atomic select case when true then 1 end; select 2; end", "select 3"],
    ],
    ["begin of a transaction", "begin; select 1; end; select 2", ["begin", "select 1", "end", "select 2"]],
  ])("%s", (_, text, statements) => {
    expect(splitSql(text)).toEqual(statements);
  });

  test("an unfinished quote ends with the file and never hangs", () => {
    for (const text of ["select 'a; b", 'select "a; b', "do $$ a; b", "/* a; b"]) expect(splitSql(text)).toEqual([text]);
  });
});
