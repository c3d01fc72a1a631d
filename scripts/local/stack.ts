/** The embedded stack: Postgres, the Supabase gateway, Redis behind Upstash REST, QStash and a simulated Google, as one thing. */
import { join } from "node:path";
import type { Gateway } from "./gateway/gateway.ts";
import { demoClient } from "./google/accounts.ts";
import { type Google, startGoogle } from "./google/google.ts";
import { prepareDatabase, urlAs } from "./postgres/database.ts";
import { startPostgres } from "./postgres/postgres.ts";
import { step } from "./process/progress.ts";
import { loadSecrets, type StackSecrets } from "./process/secrets.ts";
import { makeReadable } from "./process/state-dir.ts";
import { StopList } from "./process/stop-list.ts";
import { startWatchdog, type Watchdog } from "./process/watchdog.ts";
import { type Qstash, startQstash } from "./qstash/qstash.ts";
import { type RedisEngine, startRedis } from "./redis/redis.ts";
import { startUpstashRest, type UpstashRest } from "./redis/upstash.ts";

export interface StackOptions {
  /** "test" trades durability for speed. */
  mode: "demo" | "test";
  stateDir: string;
  logDir: string;
  /** The public address of the app, known before it starts: mails and signatures name it. */
  siteUrl: string;
  /** Whether to print a line per step. */
  quiet?: boolean;
}

export interface Stack {
  /** Where this stack keeps its data: what belongs to the data belongs here, not in the checkout. */
  stateDir: string;
  siteUrl: string;
  adminUrl: string;
  /** As the role opsmantik_app, which may execute service functions and touch no table. */
  databaseUrl: string;
  supabaseUrl: string;
  publishableKey: string;
  secretKey: string;
  mailUrl: string;
  redis: RedisEngine;
  upstash: UpstashRest;
  qstash: Qstash;
  google: Google;
  cronSecret: string;
  vaultKey: string;
  /** Everything the app reads from its environment. */
  env: Record<string, string>;
  watchdog: Watchdog;
  pids: number[];
  /** Each resolves when its part ends by itself. */
  deaths: Promise<Error>[];
  stop(): Promise<void>;
}

/** What takes Google half an hour, or six, takes seconds here: nobody watches a demo for that long. */
const quickGoogle = { processingSeconds: 4, clickMinAgeSeconds: 20 };
const verdictFirstPollSeconds = 5;

export async function startStack(options: StackOptions): Promise<Stack> {
  const stopList = new StopList();
  try {
    return await startParts(options, stopList);
  } catch (error) {
    await stopList.stopAll();
    throw error;
  }
}

async function startParts({ mode, stateDir, logDir, siteUrl, quiet }: StackOptions, stopList: StopList): Promise<Stack> {
  const show: typeof step = quiet ? (_label, run) => run() : step;
  const logPath = (name: string) => join(makeReadable(logDir), `${name}.log`);
  const secrets = await loadSecrets(stateDir);
  const watchdog = startWatchdog();
  stopList.add(async () => watchdog.end());

  const postgres = await show("Postgres", () =>
    startPostgres({
      dataDir: join(stateDir, "postgres"),
      password: secrets.postgresPassword,
      watchdog,
      logPath: logPath("postgres"),
      ephemeral: mode === "test",
    }),
  );
  stopList.add(postgres.stop);
  const databaseUrl = urlAs(postgres.adminUrl, "opsmantik_app", secrets.appDatabasePassword);

  const prepared = await show(
    "Database",
    () =>
      prepareDatabase({ databaseUrl: postgres.adminUrl, siteUrl, keys: secrets, logPath: logPath("gateway") }, secrets.appDatabasePassword),
    ({ migrations }) => `${migrations.length} migrations applied`,
  );
  stopList.add(prepared.gateway.stop);
  const gateway = await prepared.gateway.listen();

  const redis = await show(
    "Redis",
    () => startRedis({ dir: join(stateDir, "redis"), watchdog, logPath: logPath("redis"), persist: mode === "demo" }),
    ({ engine }) => engine,
  );
  stopList.add(redis.stop);
  const upstash = await startUpstashRest({ redis, token: secrets.upstashToken });
  stopList.add(upstash.stop);
  const qstash = await startQstash({
    token: secrets.qstashToken,
    currentSigningKey: secrets.qstashCurrentSigningKey,
    nextSigningKey: secrets.qstashNextSigningKey,
  });
  stopList.add(qstash.stop);
  const google = await startGoogle({ stateDir: join(stateDir, "google"), settings: quickGoogle });
  stopList.add(google.stop);

  return {
    stateDir,
    siteUrl,
    adminUrl: postgres.adminUrl,
    databaseUrl,
    supabaseUrl: gateway.url,
    publishableKey: gateway.publishableKey,
    secretKey: gateway.secretKey,
    mailUrl: gateway.mailUrl,
    redis,
    upstash,
    qstash,
    google,
    cronSecret: secrets.cronSecret,
    vaultKey: secrets.vaultKey,
    env: appEnvironment({ siteUrl, databaseUrl, gateway, upstash, qstash, google, secrets }),
    watchdog,
    pids: [postgres.pid, ...(redis.pid ? [redis.pid] : [])],
    deaths: [postgres.died, redis.died],
    stop: () => stopList.stopAll(),
  };
}

function appEnvironment({
  siteUrl,
  databaseUrl,
  gateway,
  upstash,
  qstash,
  google,
  secrets,
}: {
  siteUrl: string;
  databaseUrl: string;
  gateway: Gateway;
  upstash: UpstashRest;
  qstash: Qstash;
  google: Google;
  secrets: StackSecrets;
}): Record<string, string> {
  return {
    APP_URL: siteUrl,
    DATABASE_URL: databaseUrl,
    SUPABASE_URL: gateway.url,
    SUPABASE_PUBLISHABLE_KEY: gateway.publishableKey,
    SUPABASE_SECRET_KEY: gateway.secretKey,
    UPSTASH_REDIS_REST_URL: upstash.url,
    UPSTASH_REDIS_REST_TOKEN: upstash.token,
    QSTASH_URL: qstash.url,
    QSTASH_TOKEN: qstash.token,
    QSTASH_CURRENT_SIGNING_KEY: qstash.currentSigningKey,
    QSTASH_NEXT_SIGNING_KEY: qstash.nextSigningKey,
    CRON_SECRET: secrets.cronSecret,
    OCI_SESSION_SECRET: secrets.ociSessionSecret,
    OPSMANTIK_VAULT_KEY: secrets.vaultKey,
    GOOGLE_API_BASE_URL: google.url,
    GOOGLE_OAUTH_CLIENT_ID: demoClient.clientId,
    GOOGLE_OAUTH_CLIENT_SECRET: demoClient.clientSecret,
    VERDICT_FIRST_POLL_SECONDS: String(verdictFirstPollSeconds),
  };
}
