import { createServer, type RequestListener, type Server } from "node:http";
import { Redis } from "@upstash/redis";
import { afterEach, expect, test } from "vitest";
import { redisRequester } from "#lib/platform/redis.ts";
import { closeServer, listenLocal, readBody } from "#scripts/local/process/local-server.ts";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await closeServer(server);
});

async function redisAt(answer: RequestListener, timeoutMs?: number): Promise<Redis> {
  const server = createServer(answer);
  servers.push(server);
  const url = await listenLocal(server, "Redis of this test");
  return new Redis(redisRequester({ url, token: "secret-token", ...(timeoutMs && { timeoutMs }) }));
}

// Guarantee: commands, pipelines and the token that lets a replica wait for our own writes travel as Upstash expects them.
test("a command and a pipeline reach Upstash with the bearer and the last sync token", async () => {
  const seen: unknown[] = [];
  const redis = await redisAt(async (request, response) => {
    const { authorization, "upstash-sync-token": syncToken } = request.headers;
    const body = JSON.parse((await readBody(request)).toString("utf8"));
    seen.push({ url: request.url, authorization, syncToken, body });
    response.setHeader("upstash-sync-token", `after-${seen.length}`);
    response.end(JSON.stringify(request.url === "/" ? { result: "değer" } : [{ result: 1 }, { result: "b" }]));
  });
  expect(await redis.get("a")).toBe("değer");
  expect(await redis.pipeline().incr("n").get("b").exec()).toEqual([1, "b"]);
  const authorization = "Bearer secret-token";
  expect(seen).toEqual([
    { url: "/", authorization, syncToken: "", body: ["get", "a"] },
    {
      url: "/pipeline",
      authorization,
      syncToken: "after-1",
      body: [
        ["incr", "n"],
        ["get", "b"],
      ],
    },
  ]);
});

// Guarantee: a function that slept while the server closed its connections does not take Redis for down.
test("a kept connection that turns out to be closed is replaced once", async () => {
  const asked = new Map<unknown, number>();
  const redis = await redisAt((request, response) => {
    asked.set(request.socket, (asked.get(request.socket) ?? 0) + 1);
    if (asked.get(request.socket) === 2) return void request.socket.destroy();
    response.end(JSON.stringify({ result: "here" }));
  });
  expect(await redis.get("a")).toBe("here");
  expect(await redis.get("a")).toBe("here");
  expect([...asked.values()]).toEqual([2, 1]);
});

// Guarantee: whatever is wrong with Redis, the caller learns it; nothing waits for ever.
test.each<[string, RequestListener, RegExp]>([
  ["refuses", (_, response) => void response.writeHead(400).end(JSON.stringify({ error: "WRONGTYPE of key" })), /400: WRONGTYPE of key/],
  ["is a proxy's error page", (_, response) => void response.writeHead(502).end("<html>"), /502, not in JSON/],
  ["cuts the answer off", (_, response) => void response.writeHead(200).write("{", () => response.destroy()), /aborted|ECONNRESET/],
  ["never answers", () => undefined, /did not answer in time/],
  ["never ends its answer", (_, response) => void response.writeHead(200).write("{"), /did not answer in time|aborted/],
])("a Redis that %s is an error", async (name, answer, message) => {
  const redis = await redisAt(answer, name.startsWith("never") ? 200 : 20_000);
  await expect(redis.get("a")).rejects.toThrow(message);
});

test("a Redis that is not there is an error", async () => {
  const redis = new Redis(redisRequester({ url: "http://127.0.0.1:1", token: "secret-token" }));
  await expect(redis.get("a")).rejects.toThrow(/ECONNREFUSED/);
});
