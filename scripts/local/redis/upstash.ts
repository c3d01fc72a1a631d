/** The REST interface of Upstash Redis, as @upstash/redis speaks it, in front of our Redis. */
import { createServer, type IncomingMessage } from "node:http";
import { closeServer, listenLocal, readBody, sendJson } from "../process/local-server.ts";
import type { RedisEngine } from "./redis.ts";
import { createCommandRunner, type RedisReply } from "./redis-commands.ts";

export interface UpstashOptions {
  redis: RedisEngine;
  token: string;
  port?: number;
}

export interface UpstashRest {
  url: string;
  token: string;
  stop(): Promise<void>;
}

export async function startUpstashRest({ redis, token, port }: UpstashOptions): Promise<UpstashRest> {
  const runner = createCommandRunner(redis);

  async function answer(path: string, body: unknown, encode: (reply: RedisReply) => RedisReply) {
    if (!Array.isArray(body)) throw new Error("ERR the body must be a command or a list of commands");
    if (path === "/") return { result: encode(await runner.run(body)) };
    const commands = body.map((command) => (Array.isArray(command) ? command : [command]));
    if (path === "/multi-exec") return (await runner.runTogether(commands)).map((reply) => ({ result: encode(reply) }));
    if (path !== "/pipeline") throw new Error(`ERR there is no ${path}`);
    return Promise.all(
      commands.map((command) =>
        runner.run(command).then(
          (reply) => ({ result: encode(reply) }),
          (error: unknown) => ({ error: messageOf(error) }),
        ),
      ),
    );
  }

  const server = createServer(async (request, response) => {
    if (request.method !== "POST") return sendJson(response, 405, { error: "ERR only POST is served here" });
    if (request.headers.authorization !== `Bearer ${token}`) return sendJson(response, 401, { error: "Unauthorized" });
    try {
      const body: unknown = JSON.parse((await readBody(request)).toString("utf8"));
      sendJson(response, 200, await answer(pathOf(request), body, encoderOf(request)));
    } catch (error) {
      sendJson(response, 400, { error: messageOf(error) });
    }
  });
  const url = await listenLocal(server, "Upstash REST", port);
  return { url, token, stop: () => closeServer(server) };
}

function pathOf(request: IncomingMessage): string {
  return new URL(request.url ?? "/", "http://local").pathname;
}

function encoderOf(request: IncomingMessage): (reply: RedisReply) => RedisReply {
  return request.headers["upstash-encoding"] === "base64" ? toBase64 : (reply) => reply;
}

/** Upstash leaves "OK", numbers and null as they are. */
function toBase64(reply: RedisReply): RedisReply {
  if (Array.isArray(reply)) return reply.map(toBase64);
  return typeof reply === "string" && reply !== "OK" ? Buffer.from(reply, "utf8").toString("base64") : reply;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
