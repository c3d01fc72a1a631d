import { randomUUID } from "node:crypto";
import { globSync } from "node:fs";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { z } from "zod";
import { anyone } from "#lib/guards/machine.ts";
import { builtByHandler, handler } from "#lib/http/handler.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { send } from "#tests/support/requests.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let db: TestDatabase;
let gateway: TestGateway;
beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  useAppEnv({ database: db, gateway });
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

// Guarantee: a stranger learns nothing about params or bodies, and costs nothing, before the guard has let them in.
test("the order is: limit, guard, limit, params, query, body, run", async () => {
  const seen: string[] = [];
  const limit = (name: string) => ({
    name: `order-${name}-${randomUUID()}`,
    requests: 10,
    windowSeconds: 60,
    whenRedisIsDown: "fail-closed" as const,
    key: () => {
      seen.push(`limit ${name}`);
      return "one";
    },
  });
  const watched = (name: string) =>
    z.unknown().transform((value) => {
      seen.push(name);
      return value;
    });
  const route = handler({
    guard: ({ rawBody }) => {
      seen.push(`guard over ${rawBody}`);
      return "actor";
    },
    limits: { before: limit("before"), after: limit("after") },
    params: watched("params"),
    query: watched("query"),
    body: watched("body"),
    run: ({ actor }) => {
      seen.push(`run as ${actor}`);
      return {};
    },
  });
  expect((await send(route, { body: "{}" })).status).toBe(200);
  expect(seen).toEqual(["limit before", "guard over {}", "limit after", "params", "query", "body", "run as actor"]);
});

const echo = handler({ guard: anyone, body: z.object({ name: z.string() }), bodyMaxBytes: 100, run: ({ body }) => body });

test.each([
  ["no JSON", "{", 400, "MALFORMED_JSON"],
  ["an empty body", "", 400, "VALIDATION_FAILED"],
  ["the wrong type", "[]", 400, "VALIDATION_FAILED"],
  ["a body over the limit", JSON.stringify({ name: "x".repeat(100) }), 413, "PAYLOAD_TOO_LARGE"],
])("%s is answered %s", async (_name, body, status, code) => {
  const response = await send(echo, { body });
  const problem = await response.json();
  expect([response.status, problem.code]).toEqual([status, code]);
  expect(response.headers.get("x-request-id")).toBe(problem.requestId);
});

test("a route without parameters is served: Next then gives none at all", async () => {
  const none = { params: Promise.resolve(undefined) } as unknown as Parameters<typeof echo>[1];
  const response = await echo(new Request("https://app.opsmantik.test/api", { method: "POST", body: '{"name":"x"}' }), none);
  expect(await response.json()).toEqual({ name: "x" });
});

// Guarantee: a body cannot be larger than allowed by lying about its length.
test("the size is measured on the stream, which is not read to its end", async () => {
  let pulled = 0;
  const endless = new ReadableStream({
    pull(controller) {
      pulled += 1;
      controller.enqueue(new Uint8Array(64));
    },
  });
  const request = new Request("https://app.opsmantik.test/api", {
    method: "POST",
    body: endless,
    headers: { "content-length": "2" },
    duplex: "half",
  } as RequestInit);
  const response = await echo(request, { params: Promise.resolve({}) });
  expect(response.status).toBe(413);
  expect(pulled).toBeLessThan(10);
});

test("a body that nests ten thousand deep or carries __proto__ harms nothing", async () => {
  const deep = handler({ guard: anyone, body: z.object({ name: z.string() }), run: ({ body }) => body });
  expect((await send(deep, { body: `${"[".repeat(10_000)}${"]".repeat(10_000)}` })).status).toBe(400);
  const polluted = await send(deep, { body: '{"name":"x","__proto__":{"admin":true}}' });
  expect(await polluted.json()).toEqual({ name: "x" });
  expect(({} as { admin?: boolean }).admin).toBeUndefined();
});

// Guarantee: our internals never reach a caller, and support can find the failure by the number the caller has.
test("an unexpected error is a 500 without its text, and its log line has the same request id", async () => {
  const lines: string[] = [];
  const write = vi.spyOn(process.stdout, "write").mockImplementation((line) => {
    lines.push(...String(line).trimEnd().split("\n"));
    return true;
  });
  const route = handler({
    guard: anyone,
    run: () => {
      throw new Error("relation secret_table does not exist, key om_0123456789abcdef0123456789abcdef");
    },
  });
  const response = await send(route, { body: "{}" });
  write.mockRestore();
  const text = await response.text();
  expect(response.status).toBe(500);
  expect(text).not.toContain("secret_table");
  const { requestId } = JSON.parse(text);
  const failure = lines.map((line) => JSON.parse(line)).find((line) => line.message === "request failed");
  expect(failure).toMatchObject({ level: "error", requestId });
  expect(lines.join("")).toContain("secret_table");
  expect(lines.join("")).not.toContain("om_0123456789abcdef0");
});

test("an error of ours keeps its facts and headers", async () => {
  const route = handler({
    guard: anyone,
    run: () => {
      throw new AppError("RATE_LIMITED", { detail: "Later.", extra: { retryAfterSeconds: 7 }, headers: { "retry-after": "7" } });
    },
  });
  const response = await send(route, { body: "{}" });
  expect(response.headers.get("retry-after")).toBe("7");
  expect(await response.json()).toMatchObject({ status: 429, code: "RATE_LIMITED", detail: "Later.", retryAfterSeconds: 7 });
});

// Guarantee: no route exists without a guard that somebody chose.
test("every route file exports only what handler() built", async () => {
  const files = globSync("app/**/route.ts");
  expect(files.length).toBeGreaterThan(10);
  for (const file of files) {
    const module: Record<string, unknown> = await import(/* @vite-ignore */ `../../../${file}`);
    for (const [name, value] of Object.entries(module)) {
      if (name === "maxDuration") continue; // a setting for the platform, not a method
      expect(builtByHandler in Object(value), `${file} ${name}`).toBe(true);
    }
  }
});
