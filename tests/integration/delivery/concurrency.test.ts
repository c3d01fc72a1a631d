import { afterAll, beforeAll, expect, test } from "vitest";
import { processOfflineConversions } from "#lib/delivery/process-offline-conversions.ts";
import { startUpstashRest } from "#scripts/local/redis/upstash.ts";
import { readHealth } from "#tests/support/circuit.ts";
import { accepted, type DeliveryApp, readAttempts, scriptedProvider, startDeliveryApp } from "#tests/support/delivery-app.ts";
import { startTestRedis, type TestRedis } from "#tests/support/test-redis.ts";

let app: DeliveryApp;
let redis: TestRedis;
beforeAll(async () => {
  redis = await startTestRedis();
  app = await startDeliveryApp({ redisRest: redis.rest, variables: { CONCURRENCY_PER_SITE_PROVIDER: "1" } });
});
afterAll(async () => {
  await app.stop();
  await redis.stop();
});

const rowsOf = (ids: { id: string }[]) => app.sql`select * from public.offline_conversion_queue
  where id = any (${ids.map(({ id }) => id)}::uuid[]) order by attempt_count desc, created_at`;

// Guarantee: with every slot taken nothing is sent, no row loses an attempt, and our own limit does not look like the provider's failure.
test("one slot and two workers: the second defers with CONCURRENCY_LIMIT and calls nobody", async () => {
  const team = await app.newSite();
  const rows = await app.seal(team, 4);
  const sending = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const slow = scriptedProvider(async (jobs) => {
    sending.resolve();
    await finish.promise;
    return { results: jobs.map((job) => accepted(job)) };
  });
  const first = processOfflineConversions({ limit: 2, deadlineMs: 60_000, provider: slow });
  await sending.promise;
  const quick = scriptedProvider();
  const startedAt = Date.now();
  expect(await processOfflineConversions({ limit: 500, deadlineMs: 60_000, provider: quick })).toEqual({
    ok: true,
    processed: 2,
    completed: 0,
    failed: 0,
    retry: 2,
  });
  finish.resolve();
  expect(await first).toMatchObject({ completed: 2 });
  expect(quick.uploads).toEqual([]);
  for (const row of (await rowsOf(rows)).slice(2)) {
    expect(row).toMatchObject({ status: "RETRY", attempt_count: 0, last_error: "CONCURRENCY_LIMIT: Semaphore full" });
    expect(row).toMatchObject({ provider_error_code: "CONCURRENCY_LIMIT", provider_error_category: "TRANSIENT" });
    const waitMs = row.next_retry_at.getTime() - startedAt;
    expect(waitMs).toBeGreaterThanOrEqual(30_000);
    expect(waitMs).toBeLessThan(60_000); // 30 s and up to 10 s, and what the test took
  }
  const deferral = (await readAttempts(app.sql, team)).filter(({ batch_id }, _, all) =>
    all.some((line) => line.batch_id === batch_id && line.error_code === "CONCURRENCY_LIMIT"),
  );
  expect(deferral).toMatchObject([
    { phase: "STARTED", claimed_count: 2 },
    { phase: "FINISHED", retry_count: 2, completed_count: 0, failed_count: 0, error_category: "TRANSIENT" },
  ]);
  expect(await readHealth(app.sql, team)).toMatchObject({ state: "CLOSED", failure_count: 0 });
  expect(await redis.engine.client.zcard(`conc:${team.siteUuid}:google_ads`)).toBe(0);
});

// Guarantee: an outage of Redis delays conversions and costs nothing else, however long it lasts.
test("Redis down for five rounds: no attempt spent, no row failed, no call; then everything goes", async () => {
  const team = await app.newSite();
  const rows = await app.seal(team, 3);
  const provider = scriptedProvider();
  // A worker whose clock is a minute behind defers into the past, so the next round finds the rows due.
  const aMinuteAgo = () => new Date(Date.now() - 60_000);
  await redis.stopRest();
  for (let round = 1; round <= 5; round++) {
    expect(await processOfflineConversions({ limit: 500, deadlineMs: 60_000, provider, now: aMinuteAgo })).toMatchObject({
      processed: 3,
      retry: 3,
    });
    for (const row of await rowsOf(rows)) {
      expect(row).toMatchObject({ status: "RETRY", attempt_count: 0, attempt_base: 0, provider_error_code: "CONCURRENCY_LIMIT" });
    }
  }
  expect(provider.uploads).toEqual([]);
  expect(await readHealth(app.sql, team)).toMatchObject({ state: "CLOSED", failure_count: 0 });
  const rest = await startUpstashRest({ redis: redis.engine, token: redis.rest.token, port: Number(new URL(redis.rest.url).port) });
  expect(await processOfflineConversions({ limit: 500, deadlineMs: 60_000, provider })).toMatchObject({ completed: 3 });
  await rest.stop();
});
