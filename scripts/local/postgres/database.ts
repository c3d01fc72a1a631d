import { readFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { prepareGateway } from "../gateway/gateway.ts";
import { checkoutDir } from "../process/state-dir.ts";
import { applyMigrations } from "./migrate.ts";

const bootstrap = readFileSync(join(import.meta.dirname, "bootstrap.sql"), "utf8");
const migrationsDir = join(checkoutDir, "supabase/migrations");

type GatewayOptions = Parameters<typeof prepareGateway>[0];

/**
 * Brings a database up to date: what hosted Supabase has, the gateway's auth schema, our migrations. In this order,
 * because migrations refer to auth.users. The gateway comes back ready to listen and has answered nobody yet.
 */
export async function prepareDatabase(options: GatewayOptions, appPassword: string) {
  const adminUrl = options.databaseUrl;
  const gateway = await prepareBareDatabase(options);
  try {
    const migrations = await applyMigrations(adminUrl, migrationsDir);
    await setAppPassword(adminUrl, appPassword);
    return { gateway, migrations };
  } catch (error) {
    await gateway.stop();
    throw error;
  }
}

/** What hosted Supabase has before the first migration. */
export async function prepareBareDatabase(options: GatewayOptions) {
  await runAsAdmin(options.databaseUrl, (sql) => sql.unsafe(bootstrap).simple());
  return prepareGateway(options);
}

/** The role itself comes from a migration, without a password: whoever deploys sets it. */
async function setAppPassword(adminUrl: string, password: string): Promise<void> {
  await runAsAdmin(adminUrl, async (sql) => {
    const [role] = await sql`select from pg_roles where rolname = 'opsmantik_app'`;
    if (!role) return console.warn("Warning: no migration has created the role opsmantik_app yet.");
    // ALTER ROLE takes no parameters; the password is one of ours, in base64url.
    await sql.unsafe(`alter role opsmantik_app with login password '${password}'`);
  });
}

export function urlAs(adminUrl: string, role: string, password: string): string {
  const url = new URL(adminUrl);
  url.username = role;
  url.password = password;
  return url.href;
}

export function urlTo(serverUrl: string, databaseName: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${databaseName}`;
  return url.href;
}

async function runAsAdmin(adminUrl: string, work: (sql: postgres.Sql) => Promise<unknown>): Promise<void> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => {} });
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}
