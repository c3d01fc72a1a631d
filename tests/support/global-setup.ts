/** Starts, once per run, what the tests share: a Postgres with a template database, and a Redis behind Upstash REST. */
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import type { TestProject } from "vitest/node";
import { prepareDatabase, urlTo } from "#scripts/local/postgres/database.ts";
import { startPostgres } from "#scripts/local/postgres/postgres.ts";
import { loadSecrets } from "#scripts/local/process/secrets.ts";
import { temporaryStateDir } from "#scripts/local/process/state-dir.ts";
import { StopList } from "#scripts/local/process/stop-list.ts";
import { startWatchdog } from "#scripts/local/process/watchdog.ts";
import { startRedis } from "#scripts/local/redis/redis.ts";
import { startUpstashRest } from "#scripts/local/redis/upstash.ts";
import { templateName } from "./test-database.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The superuser's URL for the database `postgres` of the shared server. */
    adminUrl: string;
    appPassword: string;
    /** Thrown away with the run. */
    logDir: string;
    upstashUrl: string;
    upstashToken: string;
    redisEngine: string;
    /** redis:// of a real server, null for the in-process fallback. */
    redisUrl: string | null;
  }
}

export default async function setup({ provide }: TestProject) {
  const stateDir = temporaryStateDir();
  const stopList = new StopList();
  const stop = async () => {
    await stopList.stopAll();
    rmSync(stateDir, { recursive: true, force: true });
  };
  try {
    const watchdog = startWatchdog();
    stopList.add(async () => watchdog.end());
    const logPath = (name: string) => join(stateDir, `${name}.log`);
    const secrets = await loadSecrets(stateDir);
    const dataDir = join(stateDir, "postgres");
    const server = await startPostgres({
      dataDir,
      password: secrets.postgresPassword,
      watchdog,
      logPath: logPath("postgres"),
      ephemeral: true,
    });
    stopList.add(server.stop);
    await createTemplate(server.adminUrl, secrets, logPath("gateway"));

    const redis = await startRedis({ dir: join(stateDir, "redis"), watchdog, logPath: logPath("redis") });
    stopList.add(redis.stop);
    const upstash = await startUpstashRest({ redis, token: randomBytes(24).toString("base64url") });
    stopList.add(upstash.stop);

    provide("adminUrl", server.adminUrl);
    provide("logDir", stateDir);
    provide("appPassword", secrets.appDatabasePassword);
    provide("upstashUrl", upstash.url);
    provide("upstashToken", upstash.token);
    provide("redisEngine", redis.engine);
    provide("redisUrl", redis.url);
    return stop;
  } catch (error) {
    await stop();
    throw error;
  }
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
