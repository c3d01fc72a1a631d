/** Runs Upstash REST commands on ioredis or its mock, hiding where they differ from Upstash. */
import { createHash } from "node:crypto";
import type { ChainableCommander, Redis } from "ioredis";
import type { RedisEngine } from "./redis.ts";

export type RedisReply = string | number | null | RedisReply[];

export interface CommandRunner {
  run(command: unknown[]): Promise<RedisReply>;
  /** All or nothing, as MULTI … EXEC. */
  runTogether(commands: unknown[][]): Promise<RedisReply[]>;
}

export function createCommandRunner({ client, isMock, isStopped }: RedisEngine): CommandRunner {
  const scripts = new Map<string, string>();

  /** Scripts of @upstash/ratelimit open with a line that Redis itself refuses; their hash is of the whole text. */
  function withScript(command: string[]): string[] {
    const [name = "", first = "", second = "", ...rest] = command;
    if (name === "EVAL") return [name, remember(first), second, ...rest];
    if (name === "SCRIPT" && first.toUpperCase() === "LOAD") {
      remember(second);
      return ["ECHO", sha1(second)];
    }
    if (name !== "EVALSHA") return command;
    const script = scripts.get(first);
    if (script === undefined) throw new Error("NOSCRIPT No matching script. Please use EVAL.");
    return ["EVAL", script, second, ...rest];
  }

  function remember(script: string): string {
    const accepted = script.replace(/^#!lua[^\n]*\n/, "");
    scripts.set(sha1(script), accepted);
    return accepted;
  }

  function prepare(command: unknown[]): [string, ...string[]] {
    // The mock would go on answering after its stop, and nothing could be tested with Redis down.
    if (isStopped()) throw new Error("ERR Redis is stopped");
    const [name = "", ...args] = command.map(argumentText);
    const [prepared = "", ...rest] = withScript([name.toUpperCase(), ...args]);
    return [prepared, ...(isMock ? upperCaseOptions(prepared, rest) : rest)];
  }

  return {
    async run(command) {
      const [name, ...args] = prepare(command);
      return flatten(await send(client, name, args));
    },
    async runTogether(commands) {
      const transaction = client.multi();
      for (const [name, ...args] of commands.map(prepare)) send(transaction, name, args);
      const replies = (await transaction.exec()) ?? [];
      return replies.map(([error, value]) => {
        if (error) throw error;
        return flatten(value);
      });
    },
  };
}

/** The mock has no `call`, only a method per command. */
function send(target: Redis | ChainableCommander, name: string, args: string[]): unknown {
  if ("call" in target && typeof target.call === "function") return target.call(name, ...args);
  const method: unknown = Reflect.get(target, name.toLowerCase());
  if (typeof method !== "function") throw new Error(`ERR unknown command '${name}'`);
  return method.apply(target, args);
}

/** The mock reads option words in upper case only and silently ignores others, so `set k v nx` would overwrite. */
function upperCaseOptions(name: string, args: string[]): string[] {
  const from = { SET: 2, ZRANGE: 3, ZADD: 1, LMOVE: 2, EXPIRE: 2, PEXPIRE: 2, GETEX: 1, SCAN: 1 }[name];
  if (from === undefined) return args;
  if (name === "ZADD") {
    const firstScore = args.findIndex((arg, i) => i >= from && !/^(nx|xx|gt|lt|ch|incr)$/i.test(arg));
    return args.map((arg, i) => (i >= from && i < firstScore ? arg.toUpperCase() : arg));
  }
  const isOption = /^(nx|xx|gt|lt|ex|px|exat|pxat|get|keepttl|persist|byscore|bylex|rev|limit|withscores|left|right|match|count|type)$/i;
  return args.map((arg, i) => (i >= from && isOption.test(arg) ? arg.toUpperCase() : arg));
}

function argumentText(argument: unknown): string {
  return typeof argument === "string" ? argument : typeof argument === "object" ? JSON.stringify(argument) : String(argument);
}

/** ioredis turns HGETALL into an object; Upstash answers with the flat list that Redis sends. */
function flatten(value: unknown): RedisReply {
  if (value === null || value === undefined) return null;
  if (typeof value === "string" || typeof value === "number") return value;
  if (Buffer.isBuffer(value)) return value.toString("utf8");
  if (Array.isArray(value)) return value.map(flatten);
  if (typeof value === "object") return Object.entries(value).flatMap(([key, entry]) => [key, flatten(entry)]);
  return String(value);
}

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}
