import { tmpdir } from "node:os";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type * as Semaphore from "#lib/delivery/semaphore.ts";
import type { SiteUuid } from "#lib/site.ts";
import { startWatchdog } from "#scripts/local/process/watchdog.ts";
import { type RedisEngine, startRedis } from "#scripts/local/redis/redis.ts";
import { startUpstashRest } from "#scripts/local/redis/upstash.ts";
import { useAppEnv as setAppEnv } from "#tests/support/app-env.ts";

const [a, b, c, d] = ["a", "b", "c", "d"] as SiteUuid[] as [SiteUuid, SiteUuid, SiteUuid, SiteUuid];
const ttlMs = 120_000;

/** The semaphore's module as a process with these settings has it. */
async function semaphoreWith(rest: { url: string; token: string }, limits: Record<string, string> = {}): Promise<typeof Semaphore> {
  vi.resetModules();
  setAppEnv({
    database: { appUrl: "postgres://nobody@localhost/nothing" },
    gateway: { url: "http://localhost", publishableKey: "publishable-of-tests", secretKey: "secret-key-of-tests" },
    redisRest: rest,
  });
  Object.assign(process.env, { CONCURRENCY_PER_SITE_PROVIDER: "2", CONCURRENCY_GLOBAL_PER_PROVIDER: "3", ...limits });
  return import("#lib/delivery/semaphore.ts");
}

describe.each(["redis-server", "in-process fallback"] as const)("on the %s", (which) => {
  const watchdog = startWatchdog();
  let engine: RedisEngine;
  let rest: Awaited<ReturnType<typeof startUpstashRest>>;
  beforeAll(async () => {
    engine = await startRedis({ dir: tmpdir(), watchdog, logPath: "/dev/null", useMock: which !== "redis-server" });
    rest = await startUpstashRest({ redis: engine, token: "token-of-this-test" });
  });
  afterEach(() => engine.client.flushall());
  afterAll(async () => {
    await rest.stop();
    await engine.stop();
    watchdog.end();
    for (const name of ["CONCURRENCY_PER_SITE_PROVIDER", "CONCURRENCY_GLOBAL_PER_PROVIDER", "SEMAPHORE_TTL_MS"]) delete process.env[name];
  });
  const holders = (site: string) => engine.client.zrange(`conc:${site}:google_ads`, 0, -1);
  const expireHolders = async (site: string) => {
    for (const key of [`conc:${site}:google_ads`, "conc:global:google_ads"]) {
      for (const token of await engine.client.zrange(key, 0, -1)) await engine.client.zadd(key, 1, token);
    }
  };

  // Guarantee: no more uploads run at once than we allow, for one site and altogether; otherwise Google answers us with 429.
  test("a site has two slots, all sites together three, and a refusal takes neither", async () => {
    const { acquireSlot } = await semaphoreWith(rest);
    const first = await acquireSlot(a, "google_ads");
    expect(first).not.toBeNull();
    expect(await acquireSlot(a, "google_ads")).not.toBeNull();
    expect(await acquireSlot(a, "google_ads")).toBeNull();
    expect(await acquireSlot(b, "google_ads")).not.toBeNull();
    expect(await acquireSlot(c, "google_ads")).toBeNull();
    expect(await holders("c")).toEqual([]);
    expect(await engine.client.zcard("conc:global:google_ads")).toBe(3);
    await first?.release();
    expect(await acquireSlot(c, "google_ads")).not.toBeNull();
  });

  test("0 lifts the global limit", async () => {
    const { acquireSlot } = await semaphoreWith(rest, { CONCURRENCY_GLOBAL_PER_PROVIDER: "0" });
    for (const site of [a, b, c, d]) expect(await acquireSlot(site, "google_ads")).not.toBeNull();
    expect(await engine.client.exists("conc:global:google_ads")).toBe(0);
  });

  // Guarantee: a worker that was killed does not keep its slot; its successor gets it when the lease has run out.
  test("what is dead is forgotten at the next acquire, by Redis's clock", async () => {
    const { acquireSlot } = await semaphoreWith(rest, { CONCURRENCY_PER_SITE_PROVIDER: "1" });
    await acquireSlot(a, "google_ads");
    expect(await acquireSlot(a, "google_ads")).toBeNull();
    await expireHolders("a");
    // The worker's own clock decides nothing; the fallback shares it.
    if (which === "redis-server") vi.useFakeTimers({ now: 0, toFake: ["Date"] });
    expect(await acquireSlot(a, "google_ads")).not.toBeNull();
    vi.useRealTimers();
    expect(await holders("a")).toHaveLength(1);
    expect(await engine.client.pttl("conc:a:google_ads")).toBeGreaterThan(ttlMs - 5_000);
  });

  // Guarantee: a slow worker that was taken for dead frees nobody else's slot and does not come back beside its successor.
  test("only its owner renews and releases a slot", async () => {
    const { acquireSlot } = await semaphoreWith(rest, { CONCURRENCY_PER_SITE_PROVIDER: "1" });
    const late = await acquireSlot(a, "google_ads");
    expect(await late?.renew()).toBe(true);
    await expireHolders("a");
    expect(await late?.renew()).toBe(false);
    const successor = await acquireSlot(a, "google_ads");
    expect(await late?.renew()).toBe(false);
    await late?.release();
    expect(await holders("a")).toHaveLength(1);
    expect(await successor?.renew()).toBe(true);
  });

  test("a renewal holds on for another whole lease, on both keys", async () => {
    const { acquireSlot } = await semaphoreWith(rest);
    const slot = await acquireSlot(a, "google_ads");
    const [token = ""] = await holders("a");
    const soon = Date.now() + 40_000;
    for (const key of ["conc:a:google_ads", "conc:global:google_ads"]) await engine.client.zadd(key, soon, token);
    expect(await slot?.renew()).toBe(true);
    for (const key of ["conc:a:google_ads", "conc:global:google_ads"]) {
      expect(Number(await engine.client.zscore(key, token))).toBeGreaterThan(soon + 60_000);
    }
  });

  test("the slot is renewed while work goes on, and given back when it throws", async () => {
    const { acquireSlot, whileHolding } = await semaphoreWith(rest, { SEMAPHORE_TTL_MS: "1000" });
    const slot = await acquireSlot(a, "google_ads");
    if (!slot) throw new Error("There was no slot.");
    const { promise: isRenewed, resolve } = Promise.withResolvers<void>();
    const renewed = { renew: () => slot.renew().finally(resolve), release: slot.release };
    await expect(whileHolding(renewed, () => isRenewed.then(() => Promise.reject(new Error("the work failed"))))).rejects.toThrow(
      "the work failed",
    );
    expect(await holders("a")).toEqual([]);
  });
});

// Guarantee: without Redis nobody knows how many uploads run, so none is started; and nothing crashes.
test("Redis away: no slot, no error", async () => {
  const { acquireSlot } = await semaphoreWith({ url: "http://127.0.0.1:1", token: "token-of-this-test" });
  expect(await acquireSlot(a, "google_ads")).toBeNull();
});
