import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { processOfflineConversions } from "#lib/delivery/process-offline-conversions.ts";
import { readRow } from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";
import { accepted, type DeliveryApp, readAttempts, scriptedProvider, startDeliveryApp } from "#tests/support/delivery-app.ts";

let app: DeliveryApp;
beforeAll(async () => {
  app = await startDeliveryApp();
});
afterEach(() => void vi.restoreAllMocks());
afterAll(() => app.stop());

/** The app's role cannot connect any more, as when the database restarts. */
async function takeDatabaseAway(): Promise<void> {
  await app.sql`alter role opsmantik_app connection limit 0`;
  await app.sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'opsmantik_app' and datname = current_database()`;
}
async function bringDatabaseBack(): Promise<void> {
  await app.sql`alter role opsmantik_app connection limit -1`;
}

// Guarantee: an answer that Google gave is not lost because the database was away when it came.
test("a settle that finds no database is tried again within the run", async () => {
  const team = await app.newSite();
  const [row] = await app.seal(team);
  const provider = scriptedProvider(async (jobs) => {
    await takeDatabaseAway();
    setTimeout(bringDatabaseBack, 600);
    return { results: jobs.map((job) => accepted(job)) };
  });
  expect(await processOfflineConversions({ limit: 500, deadlineMs: 60_000, provider })).toMatchObject({ completed: 1 });
  expect(await readRow(app.sql, String(row?.id))).toMatchObject({ status: "COMPLETED", attempt_count: 1 });
});

// Guarantee: a worker that could not store its answer leaves rows that come back and are sent again under the same order id.
test("never settled: recovery ends the batch and the row goes again as the same conversion", async () => {
  const team = await app.newSite();
  const [row] = await app.seal(team);
  const provider = scriptedProvider(async (jobs) => {
    await takeDatabaseAway();
    const now = performance.now();
    vi.spyOn(performance, "now").mockReturnValue(now + 60_000); // the run's time is up
    return { results: jobs.map((job) => accepted(job)) };
  });
  const answer = await processOfflineConversions({ limit: 500, deadlineMs: 60_000, provider }).finally(bringDatabaseBack);
  vi.restoreAllMocks();
  expect(answer).toMatchObject({ processed: 0 });
  expect(await readRow(app.sql, String(row?.id))).toMatchObject({ status: "PROCESSING" });
  await service(app.sql, "recover_stuck_offline_conversion_jobs", {}, new Date(Date.now() + 16 * 60_000));
  expect(await readAttempts(app.sql, team)).toMatchObject([
    { phase: "STARTED" },
    { phase: "FINISHED", error_code: "WORKER_LOST", retry_count: 1 },
  ]);
  const second = scriptedProvider();
  expect(await processOfflineConversions({ limit: 500, deadlineMs: 60_000, provider: second })).toMatchObject({ completed: 1 });
  expect(second.uploads[0]?.jobs[0]?.orderId).toBe(provider.uploads[0]?.jobs[0]?.orderId);
});

// Guarantee: one row's error text never keeps the answers of its whole batch from being stored. A visitor chooses what stands in a click id, and
// Google repeats it in its message.
test.each([
  ["half a character", `${"x".repeat(499)}😀`.slice(0, 500)],
  ["a character that Postgres does not store", "a\u0000b"],
])("%s in a message does not lose the batch's answers", async (_name, message) => {
  const team = await app.newSite();
  const [good, bad] = await app.seal(team, 2);
  const provider = scriptedProvider((jobs) => ({
    results: jobs.map((job) =>
      job.id === good?.id
        ? accepted(job)
        : { id: job.id, status: "FAILED", transport: job.via, code: "UNPARSEABLE_GCLID", category: "VALIDATION", message },
    ),
    block: { code: "PERMISSION_DENIED", message },
  }));
  await processOfflineConversions({ limit: 500, deadlineMs: 60_000, provider });
  expect(await readRow(app.sql, String(good?.id))).toMatchObject({ status: "COMPLETED" });
  expect(await readRow(app.sql, String(bad?.id))).toMatchObject({ status: "FAILED", last_error: expect.stringContaining("\uFFFD") });
});
