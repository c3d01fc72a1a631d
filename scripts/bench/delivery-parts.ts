import { join } from "node:path";
import type postgres from "postgres";
import type { GoogleClient } from "#tests/fixtures/worker/google-client.ts";
import { redisPart } from "#tests/fixtures/worker/redis-part.ts";
import { startGoogleInChild } from "#tests/fixtures/worker/start-google-in-child.ts";
import { workerEnv } from "#tests/fixtures/worker/worker-env.ts";
import { startWatchdog } from "../local/process/watchdog.ts";
import { type Stage, startDatabase } from "./stage.ts";

export interface DeliveryParts {
  sql: postgres.Sql;
  google: GoogleClient;
}

/** What the worker in this process talks to. Sets the environment: import the app's code after it. */
export async function startDeliveryParts(stage: Stage): Promise<DeliveryParts> {
  const { stateDir, stopList } = stage;
  const { sql, appUrl } = await startDatabase(stage);
  const watchdog = startWatchdog();
  stopList.add(async () => watchdog.end());
  const redis = await redisPart(stateDir, watchdog);
  stopList.add(redis.kill);
  const google = await startGoogleInChild(join(stateDir, "google"), stopList);
  Object.assign(process.env, workerEnv({ databaseUrl: appUrl, googleUrl: google.url, redis: redis.env }));
  return { sql, google };
}
