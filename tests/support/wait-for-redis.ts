import { env } from "#lib/env.ts";
import { redis, redisRequester } from "#lib/platform/redis.ts";

const timeoutMs = 20_000;
let patient: ReturnType<typeof redis> | undefined;

/**
 * The app gives up on Redis after a second, and then counts in its own process or refuses. On a busy machine an answer can take longer, and
 * whoever counts requests would meet another limit: here the app waits for it. A Redis that is gone is noticed at once all the same.
 * Call it when the environment is complete: the app reads it here.
 */
export function waitForRedis(): void {
  const client = redis();
  if (client === patient) return;
  patient = client;
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = env();
  Object.assign(client, { client: redisRequester({ url, token, timeoutMs }) });
}
