import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { GET as ready } from "#app/api/health/ready/route.ts";
import { GET as health } from "#app/api/health/route.ts";
import { anyone } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";
import { temporaryStateDir } from "#scripts/local/process/state-dir.ts";
import { startWatchdog, type Watchdog } from "#scripts/local/process/watchdog.ts";
import { type RedisEngine, startRedis } from "#scripts/local/redis/redis.ts";
import { startUpstashRest, type UpstashRest } from "#scripts/local/redis/upstash.ts";
import { useAppEnv } from "#tests/support/app-env.ts";
import { send } from "#tests/support/requests.ts";
import { stopClock } from "#tests/support/stop-clock.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let db: TestDatabase;
let gateway: TestGateway;
let redis: RedisEngine;
let upstash: UpstashRest;
let watchdog: Watchdog;
const dir = temporaryStateDir();

beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  watchdog = startWatchdog();
  redis = await startRedis({ dir: join(dir, "redis"), watchdog, logPath: join(dir, "redis.log") });
  upstash = await startUpstashRest({ redis, token: "token-of-this-test" });
  useAppEnv({ database: db, gateway, redisRest: upstash });
});
afterAll(async () => {
  await upstash.stop();
  await redis.stop();
  watchdog.end();
  await gateway.stop();
  await db.drop();
  rmSync(dir, { recursive: true, force: true });
});
afterEach(() => void vi.useRealTimers());

const limited = (whenRedisIsDown: "fail-open" | "fail-closed") =>
  handler({
    guard: anyone,
    limits: {
      before: {
        name: `test-${randomUUID()}`,
        requests: 3,
        windowSeconds: 600,
        key: ({ request }) => request.headers.get("x-who") ?? "",
        whenRedisIsDown,
      },
    },
    run: () => ({ ok: true }),
  });
/** A whole number of windows since 1970, in the past. */
const windowStart = Math.floor(Date.now() / 600_000) * 600_000;
const open = limited("fail-open");
const closed = limited("fail-closed");
const statuses = async (route: typeof open, who: string, times: number) => {
  const result: number[] = [];
  for (let index = 0; index < times; index++) result.push((await send(route, { body: "{}", headers: { "x-who": who } })).status);
  return result;
};

// Guarantee: an allowance comes back as its window passes, on both counts, and not before. The clock is the test's: no second matters.
test("over the limit is 429 with the seconds to wait, and enough again after them; another caller is not affected", async () => {
  const clock = stopClock(windowStart);
  expect(await statuses(closed, "a", 4)).toEqual([200, 200, 200, 429]);
  expect(await statuses(closed, "b", 1)).toEqual([200]);
  const refused = await send(closed, { body: "{}", headers: { "x-who": "a" } });
  expect([refused.headers.get("retry-after"), refused.headers.get("x-opsmantik-ratelimit")]).toEqual(["600", "1"]);
  clock.step(600_000 - 1);
  expect(await statuses(closed, "a", 1)).toEqual([429]);
  clock.step(600_000 + 1);
  expect(await statuses(closed, "a", 1)).toEqual([200]);
});

test("everything answers while all parts are up", async () => {
  const response = await send(ready, { method: "GET" });
  expect(response.status).toBe(200);
  const { checks } = await response.json();
  expect(checks.map((check: { name: string; ok: boolean }) => [check.name, check.ok])).toEqual([
    ["postgres", true],
    ["redis", true],
    ["auth", true],
    ["migrations", true],
  ]);
  for (const check of checks) expect(check.latencyMs).toBeGreaterThanOrEqual(0);
});

// Guarantee: with the Redis process stopped a fail-closed route lets nobody through, a fail-open one still limits by itself,
// and readiness names Redis and nothing else.
test("with Redis stopped, each route does what it chose", async () => {
  await redis.stop();
  const clock = stopClock();
  const refused = await send(closed, { body: "{}", headers: { "x-who": "c" } });
  expect([refused.status, (await refused.json()).code]).toEqual([503, "REDIS_UNAVAILABLE"]);
  expect(await statuses(open, "c", 4)).toEqual([200, 200, 200, 429]);
  expect(await statuses(open, "d", 1)).toEqual([200]);
  clock.step(600_000 - 1);
  expect(await statuses(open, "c", 1)).toEqual([429]);
  clock.step(1);
  expect(await statuses(open, "c", 1)).toEqual([200]);

  const response = await send(ready, { method: "GET" });
  expect(response.status).toBe(503);
  const { checks } = await response.json();
  expect(checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([
    { name: "redis", ok: false, latencyMs: null, detail: "redis did not answer" },
  ]);
  expect((await send(health, { method: "GET" })).status).toBe(200);
});
