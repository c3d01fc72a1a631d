import { join } from "node:path";
import type postgres from "postgres";
import type { GoogleClient } from "#tests/support/google.ts";
import { redisPart } from "#tests/support/redis-part.ts";
import { startGoogleInChild } from "#tests/support/start-google-in-child.ts";
import { workerEnv } from "#tests/support/worker-env.ts";
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
