import { randomBytes } from "node:crypto";
import postgres from "postgres";
import { urlAs, urlTo } from "#scripts/local/postgres/database.ts";
import { sharedStack } from "./shared-stack.ts";

export const templateName = "opsmantik_template";

export interface TestDatabase {
  /** As the owner of everything. */
  adminUrl: string;
  /** As opsmantik_app, the app's own role. */
  appUrl: string;
  /** A connection as the owner. */
  sql: postgres.Sql;
  drop(): Promise<void>;
}

/** A database of one's own with every migration applied: a copy of the template, made in well under a second. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { adminUrl: serverUrl, appPassword } = sharedStack();
  const name = `test_${randomBytes(8).toString("hex")}`;
  await onServer(serverUrl, async (server) => {
    await server.unsafe(`create database ${name} template ${templateName} strategy file_copy`);
    // Settings and grants of a database are not copied with it.
    await server.unsafe(`alter database ${name} set search_path = "$user", public, extensions`);
    await server.unsafe(`revoke temporary on database ${name} from public`);
  });
  const adminUrl = urlTo(serverUrl, name);
  const sql = postgres(adminUrl, { max: 10, onnotice: () => {} });
  return {
    adminUrl,
    appUrl: urlAs(adminUrl, "opsmantik_app", appPassword),
    sql,
    async drop() {
      await sql.end();
      await onServer(serverUrl, (server) => server.unsafe(`drop database ${name} with (force)`));
    },
  };
}

async function onServer(serverUrl: string, work: (server: postgres.Sql) => Promise<unknown>): Promise<void> {
  const server = postgres(serverUrl, { max: 1, onnotice: () => {} });
  try {
    await work(server);
  } finally {
    await server.end();
  }
}
