import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import postgres from "postgres";
import { startApp } from "#scripts/local/app/app-server.ts";
import { buildApp } from "#scripts/local/app/build-app.ts";
import { freePort } from "#scripts/local/process/free-port.ts";
import type { ServiceProcess } from "#scripts/local/process/service-process.ts";
import { checkoutDir, temporaryStateDir } from "#scripts/local/process/state-dir.ts";
import { StopList } from "#scripts/local/process/stop-list.ts";
import { startWatchdog } from "#scripts/local/process/watchdog.ts";
import { type Part, redisPart } from "#tests/fixtures/worker/redis-part.ts";
import { startInChild } from "./start-in-child.ts";

export interface FaultStack {
  sql: postgres.Sql;
  gateUrl: string;
  workerUrl: string;
  cronSecret: string;
  gate: Part;
  worker: Part;
  redis: Part;
  qstash: Part;
  stop(): Promise<void>;
}

/** The built app twice, one to take events and one that QStash wakes, on a stack whose parts are processes of their own. */
export async function startFaultStack(): Promise<FaultStack> {
  const stateDir = temporaryStateDir();
  const stopList = new StopList();
  stopList.add(async () => rmSync(stateDir, { recursive: true, force: true }));
  try {
    const watchdog = startWatchdog();
    stopList.add(async () => watchdog.end());
    await buildApp(watchdog);
    const [gatePort, workerPort] = [await freePort(), await freePort()];
    const [gateUrl, workerUrl] = [`http://127.0.0.1:${gatePort}`, `http://127.0.0.1:${workerPort}`];
    const stack = await startInChild(stateDir, workerUrl);
    stopList.add(async () => {
      stack.child.kill("SIGTERM");
      await once(stack.child, "exit");
    });
    const sql = postgres(stack.adminUrl, { max: 5, onnotice: () => {} });
    stopList.add(() => sql.end());

    const redis = await redisPart(stateDir, watchdog);
    stopList.add(redis.kill);
    const qstash = await qstashPart(stack.env);
    stopList.add(qstash.kill);
    const env = { ...stack.env, ...redis.env, QSTASH_URL: qstash.url, APP_URL: workerUrl, TRUSTED_PROXY: "1" };
    const appPart = async (name: string, port: number, url: string) => {
      const part = restartable(() => startApp({ port, url, env, watchdog, logPath: join(stateDir, `${name}.log`) }));
      stopList.add(part.kill);
      await part.start();
      return part;
    };
    const gate = await appPart("gate", gatePort, gateUrl);
    const worker = await appPart("worker", workerPort, workerUrl);
    const cronSecret = String(stack.env.CRON_SECRET);
    return { sql, gateUrl, workerUrl, cronSecret, gate, worker, redis, qstash, stop: () => stopList.stopAll() };
  } catch (error) {
    await stopList.stopAll();
    throw error;
  }
}

function restartable(run: () => Promise<ServiceProcess>): Part {
  let app: ServiceProcess | undefined;
  return {
    async start() {
      app = await run();
    },
    async kill() {
      const dying = app;
      app = undefined;
      if (!dying) return;
      process.kill(-dying.pid, "SIGKILL"); // its group: Next may have helpers
      await dying.died;
    },
  };
}

async function qstashPart(env: Record<string, string>) {
  const port = await freePort();
  const script = join(checkoutDir, "tests/support/qstash-in-child.ts");
  const keys = [env.QSTASH_TOKEN, env.QSTASH_CURRENT_SIGNING_KEY, env.QSTASH_NEXT_SIGNING_KEY].map(String);
  let child: ChildProcess | undefined;
  const part: Part = {
    async start() {
      const started = spawn(process.execPath, [script, String(port), ...keys], { stdio: ["ignore", "pipe", "inherit"] });
      child = started;
      for await (const line of createInterface({ input: started.stdout })) if (line === "ready") return;
      throw new Error("QStash did not start in its child process.");
    },
    async kill() {
      const dying = child;
      child = undefined;
      if (!dying || dying.exitCode !== null) return;
      dying.kill("SIGKILL");
      await once(dying, "exit");
    },
  };
  await part.start();
  return { ...part, url: `http://127.0.0.1:${port}` };
}
