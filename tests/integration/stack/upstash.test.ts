import { tmpdir } from "node:os";
import { Ratelimit } from "@upstash/ratelimit";
import { Redis } from "@upstash/redis";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { leaseUnits } from "#lib/http/lease-script.ts";
import { acknowledgeViews, keepView, returnViews, takeViews } from "#lib/oci/handout/page-view-scripts.ts";
import { startWatchdog, type Watchdog } from "#scripts/local/process/watchdog.ts";
import { type RedisEngine, startRedis } from "#scripts/local/redis/redis.ts";
import { startUpstashRest, type UpstashRest } from "#scripts/local/redis/upstash.ts";
import { sharedStack } from "#tests/support/shared-stack.ts";
import { stopClock } from "#tests/support/stop-clock.ts";

afterEach(() => void vi.useRealTimers());

const connect = (url: string, token: string) => new Redis({ url, token, enableTelemetry: false, retry: false });

describe.each(["engine in use", "in-process fallback"] as const)("Upstash REST on the %s", (which) => {
  let redis: Redis;
  let watchdog: Watchdog | undefined;
  let engine: RedisEngine | undefined;
  let rest: UpstashRest | undefined;
  let url = "";
  const key = (name: string) => `${which}/${name}`;

  beforeAll(async () => {
    if (which === "engine in use") {
      url = sharedStack().upstashUrl;
      redis = connect(url, sharedStack().upstashToken);
      return;
    }
    watchdog = startWatchdog();
    engine = await startRedis({ dir: tmpdir(), watchdog, logPath: "/dev/null", useMock: true });
    rest = await startUpstashRest({ redis: engine, token: "a-token-for-tests" });
    url = rest.url;
    redis = connect(url, rest.token);
  });
  afterAll(async () => {
    await rest?.stop();
    await engine?.stop();
    watchdog?.end();
  });

  // Guarantee: a lock taken with NX holds on both engines; the fallback would otherwise let two holders in.
  test("SET with NX never overwrites, and keeps its expiry", async () => {
    expect(await redis.set(key("lock"), "first", { nx: true, ex: 60 })).toBe("OK");
    expect(await redis.set(key("lock"), "second", { nx: true, ex: 60 })).toBeNull();
    expect(await redis.get(key("lock"))).toBe("first");
    expect(await redis.ttl(key("lock"))).toBeGreaterThan(0);
  });

  // Guarantee: what was stored comes back the same: text in any language, objects, numbers, and nothing at all.
  test("values survive the encoding", async () => {
    await redis.set(key("text"), "çağrı ☎");
    await redis.set(key("object"), { a: [1, "two"] });
    await redis.hset(key("hash"), { one: "1", two: "iki" });
    await redis.rpush(key("list"), "a", "b");
    await redis.zadd(key("scores"), { score: 2, member: "b" }, { score: 1, member: "a" });
    expect(await redis.get(key("text"))).toBe("çağrı ☎");
    expect(await redis.get(key("object"))).toEqual({ a: [1, "two"] });
    expect(await redis.get(key("nothing"))).toBeNull();
    expect(await redis.hgetall(key("hash"))).toEqual({ one: 1, two: "iki" });
    expect(await redis.lrange(key("list"), 0, -1)).toEqual(["a", "b"]);
    expect(await redis.zrange(key("scores"), 0, -1, { rev: true })).toEqual(["b", "a"]);
    expect(await redis.incrby(key("count"), 5)).toBe(5);
  });

  // Guarantee: without a redis-server the limits still count, so a script can verify and export. (Both answered 503.)
  // Mutation that breaks it: a script that answers with the table that it filled by index.
  test("allowances are leased and refused", async () => {
    const keys = ["one", "one before", "two", "two before"].map((name) => key(`allowance ${name}`));
    const lease = (limit: number) =>
      redis.eval(leaseUnits, keys, [limit, 0.5, 60_000, 1, 3, 0, 0].concat([20, 0.5, 60_000, 1, 3, 0, 0]).map(String));
    expect(await lease(10)).toEqual([1, 1, 2]);
    expect(await lease(1)).toEqual([0, -1, 17]);
  });

  // Guarantee: moving work between two lists loses none of it.
  test("LMOVE, pipelines and transactions answer in order", async () => {
    await redis.rpush(key("from"), "x", "y");
    expect(await redis.lmove(key("from"), key("to"), "left", "right")).toBe("x");
    const pipeline = redis.pipeline().set(key("p"), 1).incr(key("p")).get(key("p"));
    expect(await pipeline.exec()).toEqual(["OK", 2, 2]);
    const together = redis.multi().incr(key("m")).incr(key("m"));
    expect(await together.exec()).toEqual([1, 2]);
  });

  // Guarantee: a script is known by its hash after its first use, so a limit costs one trip and not two.
  test("EVALSHA finds a script that EVAL or SCRIPT LOAD has brought", async () => {
    const script = "#!lua flags=allow-key-locking\nreturn {KEYS[1], ARGV[1]}";
    const hash = await redis.scriptLoad(script);
    expect(await redis.evalsha(hash, ["k"], ["v"])).toEqual(["k", "v"]);
    await expect(redis.evalsha("0".repeat(40), ["k"], ["v"])).rejects.toThrow(/NOSCRIPT/);
  });

  // Guarantee: the limits that protect the script and sync routes count the same here as on Upstash.
  test.each([
    ["sliding window", Ratelimit.slidingWindow(2, "1 h")],
    ["fixed window", Ratelimit.fixedWindow(2, "1 h")],
  ] as const)("a %s limit lets exactly its number through", async (name, limiter) => {
    const ratelimit = new Ratelimit({ redis, limiter, prefix: key(name), ephemeralCache: false });
    stopClock();
    const answers = [];
    for (let i = 0; i < 4; i++) answers.push((await ratelimit.limit("site-1")).success);
    expect(answers).toEqual([true, true, false, false]);
    expect((await ratelimit.limit("site-2")).success).toBe(true);
  });

  // Guarantee: page views are kept, taken, returned and acknowledged by a machine without redis-server as on Upstash.
  test("the scripts of page views do the same", async () => {
    const of = (name: string) => key(`views/${name}`);
    const [queue, processing, claims] = [of("queue"), of("processing"), of("claims")] as const;
    await redis.rpush(queue, "of-an-old-list");
    const keep = (id: string, at: number) =>
      redis.eval(keepView, [queue, processing, of("data"), of("visitor")], [id, at, "{}", 500, 10, 60, 3, 9]);
    expect([await keep("one", 100), await keep("two", 200), await keep("too-many", 300)]).toEqual([1, 1, 0]);
    const take = (until: number) => redis.eval(takeViews, [queue, processing, claims], ["site", until, 5, 600, 10, 60]);
    expect(await take(150)).toBe("one");
    expect(await redis.zrange(claims, 0, -1)).toEqual(["site/one"]);
    expect(await redis.eval(returnViews, [queue, processing, claims], ["site", 700, 10, "one", "gone"])).toBe(1);
    expect(await take(550)).toBe("one,two,of-an-old-list");
    const ack = () =>
      redis.eval(
        acknowledgeViews,
        [queue, processing, claims, of("acked"), of("data"), of("none")],
        ["site", 800, 10, 60, "one", "nobody"],
      );
    expect([await ack(), await ack()]).toEqual(["one", "one"]);
    expect([await redis.zcard(queue), await redis.zcard(processing), await redis.zcard(claims)]).toEqual([0, 2, 2]);
  });

  // Guarantee: without the token nobody on this machine reads or flushes the data.
  test("a request with a wrong token is refused", async () => {
    await expect(connect(url, "wrong").get("x")).rejects.toThrow(/Unauthorized/);
  });

  test("a failing command is an error and not a value", async () => {
    await redis.set(key("string"), "text");
    await expect(redis.lpush(key("string"), "x")).rejects.toThrow(/WRONGTYPE|wrong kind|not/i);
  });
});

// Guarantee: what a route does without Redis can be tested on every machine; a mock that never goes away would hide it.
test.each([false, true])("a stopped engine answers nothing (fallback: %s)", async (useMock) => {
  const watchdog = startWatchdog();
  const engine = await startRedis({ dir: sharedStack().logDir, watchdog, logPath: "/dev/null", useMock });
  const rest = await startUpstashRest({ redis: engine, token: "a-token-for-tests" });
  await engine.stop();
  await expect(connect(rest.url, rest.token).get("x")).rejects.toThrow();
  await rest.stop();
  watchdog.end();
});
