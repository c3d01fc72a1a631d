import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { errorStatus } from "#lib/platform/app-error.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

// Guarantee: no code reaches a caller that nobody has explained, and SQL and HTTP agree on its status.
test("codes that SQL raises are in the table with the same status, and every code is in docs/errors.md", async () => {
  const raised = await db.sql<{ status: string; code: string }[]>`
    select distinct m[1] as status, m[2] as code
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    cross join regexp_matches(p.prosrc, ${String.raw`private\.fail\((\d+), '([A-Z_]+)'`}, 'g') m
    where n.nspname in ('public', 'private')`;
  expect(raised.length).toBeGreaterThan(5);
  for (const { status, code } of raised)
    expect({ code, status: errorStatus[code as keyof typeof errorStatus] }).toEqual({ code, status: Number(status) });
  const documented = [...readFileSync("docs/errors.md", "utf8").matchAll(/^\| `([A-Z_]+)` \| (\d+) \|/gm)].map(([, code, status]) => [
    code,
    Number(status),
  ]);
  expect(Object.fromEntries(documented)).toEqual(errorStatus);
});
