import { rmSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { prepareDatabase } from "#scripts/local/postgres/database.ts";
import { type Postgres, startPostgres } from "#scripts/local/postgres/postgres.ts";
import { loadSecrets } from "#scripts/local/process/secrets.ts";
import { temporaryStateDir } from "#scripts/local/process/state-dir.ts";
import { StopList } from "#scripts/local/process/stop-list.ts";
import { startWatchdog } from "#scripts/local/process/watchdog.ts";
import type { GoogleClient } from "#tests/fixtures/worker/google-client.ts";
import { type Part, redisPart } from "#tests/fixtures/worker/redis-part.ts";
import { startGoogleInChild } from "#tests/fixtures/worker/start-google-in-child.ts";
import { workerEnv } from "#tests/fixtures/worker/worker-env.ts";
import { type StormClock, startStormClock } from "./storm-clock.ts";

export interface StormStack {
  /** As the owner of everything; another one after each restart of Postgres. */
  sql(): postgres.Sql;
  google: GoogleClient;
  clock: StormClock;
  redis: Part;
  /** Stops Postgres, or lets it crash, with what is under way in it, and starts it again. */
  restartPostgres(isCrash: boolean): Promise<void>;
  /** What a worker reads from its environment. */
  env: Record<string, string>;
  stop(): Promise<void>;
}

/** Postgres, Redis and the simulator, each a process of its own, with a database that has every migration. */
export async function startStormStack(): Promise<StormStack> {
  const stateDir = temporaryStateDir();
  const stopList = new StopList();
  stopList.add(async () => rmSync(stateDir, { recursive: true, force: true }));
  try {
    const watchdog = startWatchdog();
    stopList.add(async () => watchdog.end());
    const secrets = await loadSecrets(stateDir);
    const options = {
      dataDir: join(stateDir, "postgres"),
      password: secrets.postgresPassword,
      watchdog,
      logPath: join(stateDir, "pg.log"),
    };
    let server: Postgres = await startPostgres({ ...options, ephemeral: true });
    stopList.add(() => server.stop());
    const { adminUrl, port } = server;
    await migrate(adminUrl, secrets, join(stateDir, "gateway.log"));
    const connect = () => postgres(adminUrl, { max: 4, onnotice: () => {} });
    let sql = connect();
    stopList.add(() => sql.end());
    await sql`alter database postgres set synchronous_commit = on`; // a crash must not forget what was answered
    await sql.end();
    sql = connect(); // sessions of before keep the old setting
    const redis = await redisPart(stateDir, watchdog);
    stopList.add(redis.kill);
    const google = await startGoogleInChild(join(stateDir, "google"), stopList);
    return {
      sql: () => sql,
      google,
      clock: await startStormClock(() => sql, google),
      redis,
      async restartPostgres(isCrash) {
        await sql.end();
        if (isCrash) {
          process.kill(server.pid, "SIGQUIT"); // at once, without a word to anybody; the next start recovers from the log
          await server.died;
        } else await server.stop();
        server = await startPostgres({ ...options, port, ephemeral: true });
        sql = connect();
      },
      env: {
        // As the owner, because only the owner's sessions heed the database's own clock (private.current_moment).
        ...workerEnv({ databaseUrl: adminUrl, googleUrl: google.url, redis: redis.env }),
        // Redis keeps real time: the slot of a killed worker is free again in the next round or two.
        SEMAPHORE_TTL_MS: "1000",
      },
      stop: () => stopList.stopAll(),
    };
  } catch (error) {
    await stopList.stopAll();
    throw error;
  }
}

async function migrate(adminUrl: string, secrets: Awaited<ReturnType<typeof loadSecrets>>, logPath: string): Promise<void> {
  const options = { databaseUrl: adminUrl, siteUrl: "http://localhost:3000", keys: secrets, logPath };
  const { gateway } = await prepareDatabase(options, secrets.appDatabasePassword);
  await gateway.stop();
}
