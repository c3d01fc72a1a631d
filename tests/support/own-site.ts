import { randomUUID } from "node:crypto";
import postgres from "postgres";
import type { DemoFile } from "#scripts/local/demo/demo-file.ts";
import { handOver, type Person, type Team } from "#tests/fixtures/team.ts";

/** Who founded the demo's sites, and so may add more. */
export async function founderOf(sql: postgres.Sql, { users }: DemoFile): Promise<Person> {
  const [founder] = await sql<Person[]>`select id, email from auth.users where email = ${users[0]?.email ?? ""}`;
  if (!founder) throw new Error("The stack has no owner.");
  return founder;
}

/** A site with a team of its own on the browser's stack, so that no test meets another's rows. */
export async function withOwnSite<T>(
  stack: DemoFile,
  create: (sql: postgres.Sql, name: string, founder: Person) => Promise<Team>,
  run: (team: Team, sql: postgres.Sql) => Promise<T>,
): Promise<T> {
  const sql = postgres(stack.adminDatabaseUrl, { max: 1, onnotice: () => {} });
  try {
    const name = `own-${randomUUID().slice(0, 8)}`;
    const made = await create(sql, name, await founderOf(sql, stack));
    return await run(await handOver(sql, made, `owner@${name}.test`), sql);
  } finally {
    await sql.end();
  }
}
