/** Applies supabase/migrations the way `supabase db push` does, and keeps the same history table. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { splitSql } from "./split-sql.ts";

interface Migration {
  version: string;
  name: string;
  fileName: string;
  text: string;
}

interface Applied {
  version: string;
  name: string | null;
  statements: string[] | null;
}

const historyTable = `
create schema if not exists supabase_migrations;
create table if not exists supabase_migrations.schema_migrations (version text not null primary key);
alter table supabase_migrations.schema_migrations
  add column if not exists statements text[],
  add column if not exists name text,
  add column if not exists created_by text,
  add column if not exists idempotency_key text unique,
  add column if not exists rollback text[];`;

// Any constant: two migrators on one database wait for each other.
const migrationLock = 4_817_003;

/** The database was made from other migrations than these. It is never half-upgraded: that would match no version. */
export class OtherHistoryError extends Error {
  constructor(fileNames: string[]) {
    super(`This database was made from other versions of ${fileNames.join(", ")}.`);
    this.name = "OtherHistoryError";
  }
}

/** Gives the names of the files that were new here. */
export async function applyMigrations(databaseUrl: string, migrationsDir: string): Promise<string[]> {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    await sql`select pg_advisory_lock(${migrationLock})`;
    await sql.unsafe(historyTable).simple();
    const history = await sql<Applied[]>`select version, name, statements from supabase_migrations.schema_migrations order by version`;
    const migrations = readMigrations(migrationsDir);
    refuseOtherHistory(history, migrations);
    const added = migrations.filter(({ version }) => !history.some((applied) => applied.version === version));
    for (const migration of added) await applyOne(sql, migration);
    return added.map(({ fileName }) => fileName);
  } finally {
    await sql.end();
  }
}

function refuseOtherHistory(history: Applied[], migrations: Migration[]): void {
  const other = history.filter(({ version, statements }) => {
    const file = migrations.find((one) => one.version === version);
    return !file || JSON.stringify(statements) !== JSON.stringify(splitSql(file.text));
  });
  if (other.length > 0) throw new OtherHistoryError(other.map(({ version, name }) => `${version}_${name}.sql`));
}

function readMigrations(dir: string): Migration[] {
  const migrations: Migration[] = [];
  for (const fileName of readdirSync(dir).toSorted()) {
    if (!fileName.endsWith(".sql")) continue;
    const [, version, name] = /^(\d{14})_(.+)\.sql$/.exec(fileName) ?? [];
    if (!version || !name) throw new Error(`${fileName} is not named <14 digits>_<name>.sql, so Supabase would skip it.`);
    if (migrations.at(-1)?.version === version) throw new Error(`Two migrations have the version ${version}.`);
    migrations.push({ version, name, fileName, text: readFileSync(join(dir, fileName), "utf8") });
  }
  return migrations;
}

/** The file and its history row in one transaction: a failed file leaves nothing behind. */
async function applyOne(sql: postgres.Sql, { version, name, fileName, text }: Migration): Promise<void> {
  try {
    await sql.begin(async (tx) => {
      await tx.unsafe(text).simple();
      await tx`insert into supabase_migrations.schema_migrations ${tx({ version, name, statements: splitSql(text) })}`;
    });
    // What a file set with `set …` must not reach the next one.
    await sql`reset all`;
  } catch (error) {
    if (!(error instanceof postgres.PostgresError)) throw error;
    const line = text.slice(0, Number(error.position ?? 0)).split("\n").length;
    const where = error.position ? ` line ${line}` : "";
    throw new Error(`${fileName}${where}: ${error.message}${error.detail ? ` (${error.detail})` : ""}`, { cause: error });
  }
}
