import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { prepareBareDatabase, urlTo } from "../local/postgres/database.ts";
import { loadSecrets } from "../local/process/secrets.ts";
import { temporaryStateDir } from "../local/process/state-dir.ts";
import { orderStatements } from "./order-statements.ts";
import { readSchemas, type Statement } from "./read-schemas.ts";

export interface ScratchDatabase {
  url: string;
  /** A connection as the owner. */
  sql: postgres.Sql;
}

/** Kept on its server, which is thrown away in the end: it takes the longest to make. */
const templateName = "scratch_template";

/** Gives `work` databases to build and compare: each begins with what hosted Supabase has, and nothing of ours. */
export async function withScratchDatabases<T>(serverUrl: string, work: (create: () => Promise<ScratchDatabase>) => Promise<T>): Promise<T> {
  const server = postgres(serverUrl, { max: 1, onnotice: () => {} });
  const made = new Map<string, postgres.Sql>();
  try {
    const [template] = await server`select from pg_database where datname = ${templateName}`;
    if (!template) await createTemplate(server, serverUrl);
    return await work(async () => {
      const name = `scratch_${randomBytes(6).toString("hex")}`;
      await server.unsafe(`create database ${name} template ${templateName} strategy file_copy`);
      const url = urlTo(serverUrl, name);
      const sql = postgres(url, { max: 1, onnotice: () => {} });
      made.set(name, sql);
      return { url, sql };
    });
  } finally {
    for (const [name, sql] of made) {
      await sql.end();
      await server.unsafe(`drop database ${name} with (force)`);
    }
    await server.end();
  }
}

/** Named when it is whole. */
async function createTemplate(server: postgres.Sql, serverUrl: string): Promise<void> {
  const name = `${templateName}_${randomBytes(6).toString("hex")}`;
  await server.unsafe(`create database ${name}`);
  await prepareTemplate(urlTo(serverUrl, name));
  await server.unsafe(`alter database ${name} rename to ${templateName}`);
}

async function prepareTemplate(databaseUrl: string): Promise<void> {
  const dir = temporaryStateDir();
  try {
    const keys = await loadSecrets(dir);
    const gateway = await prepareBareDatabase({ databaseUrl, siteUrl: "http://127.0.0.1", keys, logPath: join(dir, "gateway.log") });
    await gateway.stop();
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** Runs the schemas statement by statement, in the order in which they run. */
export async function applySchemas(sql: postgres.Sql, schemasDir: string): Promise<Statement[]> {
  const statements = orderStatements(readSchemas(schemasDir));
  await sql.begin(async (tx) => {
    await tx`set local check_function_bodies = off`;
    // Sent without waiting for answers; one connection still runs them in this order.
    await Promise.all(statements.map((one) => tx.unsafe(one.text).catch((error: Error) => refuse(one, error))));
  });
  return statements;
}

function refuse({ file, text }: Statement, error: Error): never {
  throw new Error(`${file}: ${error.message}\n${text.slice(0, 200)}`, { cause: error });
}

/** Makes every function again with its body checked, which was off while they were made in any order. */
export async function checkBodies(sql: Pick<postgres.Sql, "unsafe">): Promise<void> {
  await sql.unsafe(`do $$
declare
  v_function record;
begin
  for v_function in select p.oid::regprocedure as name, pg_get_functiondef(p.oid) as definition from pg_proc p
      where p.pronamespace in ('public'::regnamespace, 'private'::regnamespace) loop
    begin
      execute v_function.definition;
    exception when others then
      raise exception '%: %', v_function.name, sqlerrm;
    end;
  end loop;
end
$$`);
}
