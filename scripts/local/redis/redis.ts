import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { Redis } from "ioredis";
import RedisMock from "ioredis-mock";
import { freePort } from "../process/free-port.ts";
import { startService } from "../process/service-process.ts";
import { makeReadable } from "../process/state-dir.ts";
import type { Watchdog } from "../process/watchdog.ts";

export interface RedisOptions {
  dir: string;
  watchdog: Watchdog;
  logPath: string;
  /** Keeps data across restarts, in an append-only file. */
  persist?: boolean;
  /** Forces the fallback, for tests of it. */
  useMock?: boolean;
}

export interface RedisEngine {
  /** "redis-server 7.0.15" or "ioredis-mock (in-process fallback)". */
  engine: string;
  isMock: boolean;
  client: Redis;
  /** redis:// of a real server; null for the fallback, which lives in this process. */
  url: string | null;
  pid: number | null;
  died: Promise<Error>;
  isStopped(): boolean;
  stop(): Promise<void>;
}

/** A real redis-server when the machine has one, else an imitation in this process. */
export async function startRedis(options: RedisOptions): Promise<RedisEngine> {
  const binary = options.useMock ? undefined : findRedisServer();
  return binary ? startServer(binary, options) : startMock();
}

export function findRedisServer(): string | undefined {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];
  return folders.map((folder) => join(folder, "redis-server")).find(isExecutable);
}

/** For people: which Redis a run used. */
export function engineName(binary: string | undefined): string {
  if (!binary) return "ioredis-mock (in-process fallback)";
  const version = /v=([\d.]+)/.exec(execFileSync(binary, ["--version"], { encoding: "utf8" }))?.[1] ?? "";
  return `redis-server ${version}`.trim();
}

const bindAttemptsMax = 5;

/** On another port if someone took the first one between our look and Redis's bind. */
async function startServer(binary: string, options: RedisOptions): Promise<RedisEngine> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startServerOn(await freePort(), binary, options);
    } catch (error) {
      const lostRace = error instanceof Error && /Address already in use/.test(error.message);
      if (!lostRace || attempt === bindAttemptsMax) throw error;
    }
  }
}

async function startServerOn(port: number, binary: string, { dir, watchdog, logPath, persist }: RedisOptions): Promise<RedisEngine> {
  const server = await startService({
    name: "Redis",
    command: binary,
    args: ["--port", String(port), "--bind", "127.0.0.1", "--dir", makeReadable(dir), "--save", ""].concat([
      "--appendonly",
      persist ? "yes" : "no",
    ]),
    env: { PATH: process.env.PATH },
    cwd: "/",
    watchdog,
    logPath,
    stopSignals: ["SIGTERM", "SIGKILL"],
  });
  await server.waitForOutput(/Ready to accept connections/);
  const client = new Redis({ host: "127.0.0.1", port, maxRetriesPerRequest: 1 });
  // A dead server is reported by `died`; without a listener ioredis would print every attempt to reconnect.
  client.on("error", () => {});
  let stopped = false;
  return {
    engine: engineName(binary),
    isMock: false,
    client,
    url: `redis://127.0.0.1:${port}`,
    pid: server.pid,
    died: server.died,
    isStopped: () => stopped,
    async stop() {
      stopped = true;
      client.disconnect();
      await server.stop();
    },
  };
}

let mocksStarted = 0;

function startMock(): RedisEngine {
  // Mocks share their data by port, so each gets its own.
  let stopped = false;
  const client: Redis = new RedisMock({ port: ++mocksStarted });
  return {
    engine: engineName(undefined),
    isMock: true,
    client,
    url: null,
    pid: null,
    died: new Promise(() => {}),
    isStopped: () => stopped,
    async stop() {
      stopped = true;
      client.disconnect();
    },
  };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
