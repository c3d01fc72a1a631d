import { rmSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "#scripts/local/process/free-port.ts";
import { temporaryStateDir } from "#scripts/local/process/state-dir.ts";
import { startWatchdog } from "#scripts/local/process/watchdog.ts";
import { type RedisEngine, startRedis } from "#scripts/local/redis/redis.ts";
import { startUpstashRest } from "#scripts/local/redis/upstash.ts";

export interface TestRedis {
  engine: RedisEngine;
  rest: { url: string; token: string };
  /** Ends Redis itself; the REST server in front of it keeps answering that it is gone. */
  stopServer(): Promise<void>;
  /** Ends the REST server in front of it, so that connections are refused. */
  stopRest(): Promise<void>;
  stop(): Promise<void>;
}

/** A Redis of one's own, which a test may flush, fill or stop. */
export async function startTestRedis(): Promise<TestRedis> {
  const dir = temporaryStateDir();
  const watchdog = startWatchdog();
  const engine = await startRedis({ dir: join(dir, "redis"), watchdog, logPath: join(dir, "redis.log") });
  const port = await freePort(); // while it is stopped no connection takes it, so that it can be started again
  const rest = await startUpstashRest({ redis: engine, token: "token-of-this-test", port });
  return {
    engine,
    rest,
    stopServer: engine.stop,
    stopRest: rest.stop,
    async stop() {
      await rest.stop();
      await engine.stop();
      watchdog.end();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
