import { Redis } from "@upstash/redis";
import { env } from "#lib/env.ts";

/** How long a request may wait for Redis. It speeds things up and limits; it never decides money. */
const commandTimeoutMs = 1000;

let client: Redis | undefined;

/** Upstash Redis over REST. No retries: whoever calls decides at once what a missing Redis means. */
export function redis(): Redis {
  client ??= new Redis({
    url: env().UPSTASH_REDIS_REST_URL,
    token: env().UPSTASH_REDIS_REST_TOKEN,
    retry: false,
    enableTelemetry: false,
    signal: () => AbortSignal.timeout(commandTimeoutMs),
  });
  return client;
}
