import { Agent as HttpAgent, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import type { Requester } from "@upstash/redis";
import { Redis } from "@upstash/redis";
import { env } from "#lib/env.ts";

let client: Redis | undefined;

/** Upstash Redis over REST. */
export function redis(): Redis {
  client ??= new Redis(redisRequester({ url: env().UPSTASH_REDIS_REST_URL, token: env().UPSTASH_REDIS_REST_TOKEN }));
  return client;
}

interface RequesterOptions {
  url: string;
  token: string;
  /** How long a request may wait for Redis. It speeds things up and limits; it never decides money. */
  timeoutMs?: number;
}

/** An idle connection is closed from our side, before the server does it in the moment we write to it. */
const agentOptions = { keepAlive: true, timeout: 4_000 };

/**
 * Carries the commands of @upstash/redis with Node's own HTTP client. fetch, with a signal for the time limit, took more of the
 * processor than all else a tracker's request does outside Next. No retries when it is down: whoever calls decides at once what that means.
 */
export function redisRequester({ url, token, timeoutMs = 1000 }: RequesterOptions): Requester {
  const secure = url.startsWith("https:");
  const agent = secure ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);
  const send = secure ? requestHttps : requestHttp;
  const { protocol, hostname, port, pathname } = new URL(url);
  const base = pathname.replace(/\/$/, "");
  let syncToken = ""; // with it a replica answers only when it has our own earlier writes

  function post<T>(path: string, text: string, isRetry = false): Promise<T> {
    return new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        "content-length": Buffer.byteLength(text),
        "upstash-sync-token": syncToken,
      };
      const sending = send({ protocol, hostname, port, path, method: "POST", agent, headers }, (response) => {
        let answer = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => {
          answer += chunk;
        });
        response.on("error", reject);
        response.on("end", () => {
          syncToken = String(response.headers["upstash-sync-token"] ?? "");
          try {
            const parsed = JSON.parse(answer);
            if (response.statusCode === 200) resolve(parsed);
            else reject(new Error(`Redis answered ${response.statusCode}: ${parsed.error}`));
          } catch (error) {
            reject(new Error(`Redis answered ${response.statusCode}, not in JSON`, { cause: error }));
          }
        });
      });
      const timer = setTimeout(() => sending.destroy(new Error("Redis did not answer in time")), timeoutMs);
      sending.on("error", (error: NodeJS.ErrnoException) => {
        // A function that slept wakes up with connections that the server has closed meanwhile: nobody read the command.
        if (sending.reusedSocket && error.code === "ECONNRESET" && !isRetry) resolve(post<T>(path, text, true));
        else reject(error);
      });
      sending.on("close", () => clearTimeout(timer));
      sending.end(text);
    });
  }

  return { request: ({ path = [], body }) => post([base, ...path].join("/") || "/", JSON.stringify(body)) };
}
