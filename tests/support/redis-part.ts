import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { freePort } from "#scripts/local/process/free-port.ts";
import type { Watchdog } from "#scripts/local/process/watchdog.ts";
import { type RedisEngine, startRedis } from "#scripts/local/redis/redis.ts";
import { startUpstashRest, type UpstashRest } from "#scripts/local/redis/upstash.ts";

/** A part that can be taken down and brought back at the same address. */
export interface Part {
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** Redis and the REST interface in front of it; both are gone while it is down, so that connections are refused. */
export async function redisPart(stateDir: string, watchdog: Watchdog) {
  const port = await freePort();
  const token = randomBytes(24).toString("base64url");
  let parts: { engine: RedisEngine; rest: UpstashRest } | undefined;
  const part: Part = {
    async start() {
      const engine = await startRedis({ dir: join(stateDir, "fault-redis"), watchdog, logPath: join(stateDir, "fault-redis.log") });
      if (engine.isMock) throw new Error("The fault test needs a real redis-server: the mock cannot be taken down. Install redis-server.");
      parts = { engine, rest: await startUpstashRest({ redis: engine, token, port }) };
    },
    async kill() {
      await parts?.rest.stop();
      await parts?.engine.stop();
      parts = undefined;
    },
  };
  await part.start();
  return { ...part, env: { UPSTASH_REDIS_REST_URL: `http://127.0.0.1:${port}`, UPSTASH_REDIS_REST_TOKEN: token } };
}
