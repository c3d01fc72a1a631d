/** For commands that only the owner of the database may run: whoever runs the installation. The app's own login is refused. */
import postgres from "postgres";
import { readDemoFile } from "./local/demo/demo-file.ts";

export const whichDatabase = `The database is DATABASE_URL, as its owner: on Supabase the role postgres, not the app's opsmantik_app. Without DATABASE_URL it is
the running demo.`;

export function stop(words: string, code: 1 | 2): never {
  console.error(words);
  process.exit(code);
}

/** What a refusal of the database means to whoever typed the command. */
export type Refusals = Record<string, string>;

/** Runs one statement and gives the answer. Exits 2 without a database, 1 when the database refuses. */
export async function callAsOwner(
  statement: (sql: postgres.Sql) => postgres.PendingQuery<postgres.Row[]>,
  refusals: Refusals,
): Promise<Record<string, unknown>> {
  const url = process.env.DATABASE_URL ?? readDemoFile()?.adminDatabaseUrl;
  if (!url) stop("Set DATABASE_URL to the database, as its owner, or start the demo.", 2);
  // The pooler of a deployment keeps no prepared statements.
  const sql = postgres(url, { max: 1, prepare: false, onnotice: () => {} });
  try {
    const [row] = await statement(sql);
    return Object.values(row ?? {})[0];
  } catch (error) {
    await sql.end();
    const { message, code } = error as Error & { code?: string }; // what the driver throws
    if (code === "42501") stop(`${new URL(url).username} may not do this. ${whichDatabase}`, 1);
    stop(refusals[message] ?? message, 1);
  } finally {
    await sql.end();
  }
}
