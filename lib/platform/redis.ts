import { Redis } from "@upstash/redis";
import { env } from "#lib/env.ts";
import { redisRequester } from "./redis-requester.ts";

let client: Redis | undefined;

/** Upstash Redis over REST. */
export function redis(): Redis {
  client ??= new Redis(redisRequester({ url: env().UPSTASH_REDIS_REST_URL, token: env().UPSTASH_REDIS_REST_TOKEN }));
  return client;
}
