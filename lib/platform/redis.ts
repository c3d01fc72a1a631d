import { Redis, type Requester } from "@upstash/redis";
import { env } from "#lib/env.ts";
import { redisRequester } from "./redis-requester.ts";

/** Commands that are ready in the same moment travel as one request; the library does so by itself only over its own fetch. */
class PipelinedRedis extends Redis {
  static over(requester: Requester): Redis {
    return new PipelinedRedis(requester).autoPipeline();
  }
}

let client: Redis | undefined;

/** Upstash Redis over REST. */
export function redis(): Redis {
  client ??= PipelinedRedis.over(redisRequester({ url: env().UPSTASH_REDIS_REST_URL, token: env().UPSTASH_REDIS_REST_TOKEN }));
  return client;
}
