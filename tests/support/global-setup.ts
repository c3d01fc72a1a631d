/** Starts, once per run and for each worker, what test files share: a Postgres with a template database, and a Redis behind Upstash REST. */
import { randomBytes } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import type { TestProject } from "vitest/node";
import { baselineName, renderMigration } from "#scripts/db/render-migration.ts";
import { isReleased, migrationsIn, schemasIn, supabaseDir } from "#scripts/db/supabase-dir.ts";
import { prepareDatabase, urlTo } from "#scripts/local/postgres/database.ts";
import { startPostgres } from "#scripts/local/postgres/postgres.ts";
import { loadSecrets } from "#scripts/local/process/secrets.ts";
import { memoryStateDir } from "#scripts/local/process/state-dir.ts";
import { StopList } from "#scripts/local/process/stop-list.ts";
import { startWatchdog, type Watchdog } from "#scripts/local/process/watchdog.ts";
import { startRedis } from "#scripts/local/redis/redis.ts";
import { startUpstashRest } from "#scripts/local/redis/upstash.ts";
import type { SharedStack } from "./shared-stack.ts";
import { templateName } from "./test-database.ts";

/** A test would pass on SQL that nobody looks at any more. */
function requireRenderedMigration(): void {
  const migration = readFileSync(join(migrationsIn(supabaseDir), baselineName), "utf8");
  if (!isReleased(supabaseDir) && migration !== renderMigration(schemasIn(supabaseDir)))
    throw new Error("supabase/schemas changed and the migration did not: npm run db:render && npm run types:generate");
}

export default async function setup({ name, provide, config }: TestProject) {
  requireRenderedMigration();
  const stopList = new StopList();
  try {
    const watchdog = startWatchdog();
    stopList.add(async () => watchdog.end());
    // Autovacuum takes transaction ids, locks tables and holds back whoever waits for older transactions, at moments of its own; the full fault
    // tests make more rows than Postgres can do without it. A deadlock is looked for once, so long after a wait began: a test that makes one
    // needs that time.
    const settings = name === "fault" ? [] : ["autovacuum=off", "deadlock_timeout=5s"];
    const starting = Array.from({ length: config.maxWorkers }, () => startSharedStack(watchdog, stopList, settings));
    // All have come to an end before one's failure stops the others.
    await Promise.allSettled(starting);
    provide("stacks", await Promise.all(starting));
    return () => stopList.stopAll();
  } catch (error) {
    await stopList.stopAll();
    throw error;
  }
}

async function startSharedStack(watchdog: Watchdog, stopList: StopList, settings: string[]): Promise<SharedStack> {
  const stateDir = memoryStateDir();
  stopList.add(async () => rmSync(stateDir, { recursive: true, force: true }));
  const logPath = (name: string) => join(stateDir, `${name}.log`);
  const secrets = await loadSecrets(stateDir);
  const dataDir = join(stateDir, "postgres");
  const server = await startPostgres({
    dataDir,
    password: secrets.postgresPassword,
    watchdog,
    logPath: logPath("postgres"),
    ephemeral: true,
    settings,
  });
  stopList.add(server.stop);
  await createTemplate(server.adminUrl, secrets, logPath("gateway"));

  const redis = await startRedis({ dir: join(stateDir, "redis"), watchdog, logPath: logPath("redis") });
  stopList.add(redis.stop);
  const upstash = await startUpstashRest({ redis, token: randomBytes(24).toString("base64url") });
  stopList.add(upstash.stop);
  return {
    adminUrl: server.adminUrl,
    appPassword: secrets.appDatabasePassword,
    logDir: stateDir,
    upstashUrl: upstash.url,
    upstashToken: upstash.token,
  };
}

/** Copied for every test file; nothing may stay connected to it, so the gateway that made it is stopped again. */
async function createTemplate(adminUrl: string, secrets: Awaited<ReturnType<typeof loadSecrets>>, logPath: string): Promise<void> {
  const sql = postgres(adminUrl, { max: 1 });
  await sql.unsafe(`create database ${templateName}`);
  await sql.end();
  const options = { databaseUrl: urlTo(adminUrl, templateName), siteUrl: "http://localhost:3000", keys: secrets, logPath };
  const { gateway } = await prepareDatabase(options, secrets.appDatabasePassword);
  await gateway.stop();
}
