import { rmSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startOnKeptData } from "#scripts/local/demo/demo-stack.ts";
import { temporaryStateDir } from "#scripts/local/process/state-dir.ts";
import type { Stack } from "#scripts/local/stack.ts";

let stateDir = "";
let said: string[] = [];
beforeEach(() => {
  stateDir = temporaryStateDir();
  said = [];
  vi.spyOn(console, "log").mockImplementation((line) => said.push(line));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(stateDir, { recursive: true, force: true });
});

async function onStack<T>(work: (sql: postgres.Sql, stack: Stack) => Promise<T>): Promise<T> {
  const options = { mode: "test", stateDir, logDir: join(stateDir, "logs"), siteUrl: "http://localhost:1", quiet: true } as const;
  const stack = await startOnKeptData(options);
  const sql = postgres(stack.adminUrl, { max: 1 });
  try {
    return await work(sql, stack);
  } finally {
    await sql.end();
    await stack.stop();
  }
}
const isKept = () => onStack(async (sql) => (await sql`select from pg_tables where tablename = 'left_by_the_run_before'`).length > 0);

// Guarantee: a demo of another version starts all the same, whole and new, and says so; one of this version keeps its data.
test("a demo's database from another version is built anew with a plain message", async () => {
  await onStack((sql) => sql`create table public.left_by_the_run_before (id int)`);
  expect(await isKept()).toBe(true);
  expect(said).toEqual([]);

  await onStack((sql) => sql`update supabase_migrations.schema_migrations set version = '20260101000000', name = 'older'`);
  expect(await isKept()).toBe(false);
  expect(said).toEqual(["  The demo's database comes from another version and is built again."]);
});
