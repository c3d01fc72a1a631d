import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { processOfflineConversions } from "#lib/delivery/process-offline-conversions.ts";
import type { ConversionJob, UploadResult } from "#lib/providers/port.ts";
import { ProviderRateLimitError, ProviderTransientError } from "#lib/providers/provider-error.ts";
import { readRow } from "#tests/fixtures/queue.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { readHealth } from "#tests/support/circuit.ts";
import {
  accepted,
  type DeliveryApp,
  readAttempts,
  scriptedProvider,
  startDeliveryApp,
  testCredentials,
} from "#tests/support/delivery-app.ts";

let app: DeliveryApp;
beforeAll(async () => {
  app = await startDeliveryApp();
});
afterEach(() => void vi.restoreAllMocks());
afterAll(() => app.stop());

const deliver = (provider = scriptedProvider(), more: { limit?: number; deadlineMs?: number; now?: () => Date } = {}) =>
  processOfflineConversions({ limit: 500, deadlineMs: 60_000, provider, ...more });

const rowsOf = (ids: { id: string }[]) => Promise.all(ids.map(({ id }) => readRow(app.sql, id)));
const metricsOf = async (team: Team) =>
  (
    await app.sql`select attempts_total::int, completed_total::int, failed_total::int, retry_total::int
    from public.provider_upload_metrics where site_id = ${team.siteUuid}`
  )[0];
const failed = ({ id, via }: ConversionJob, more: Partial<UploadResult>): UploadResult => ({
  id,
  status: "FAILED",
  transport: via,
  ...more,
});

// Guarantee: every conversion that is due goes out once, and the row, the ledger and the counters say the same about it.
test("success: COMPLETED with the request's id, one pair in the ledger, metrics, a dispatch", async () => {
  const team = await app.newSite();
  const rows = await app.seal(team, 3);
  const provider = scriptedProvider();
  expect(await deliver(provider)).toEqual({ ok: true, processed: 3, completed: 3, failed: 0, retry: 0 });
  expect(provider.uploads.map(({ jobs }) => jobs.length)).toEqual([3]);
  expect(provider.uploads[0]?.connection.credentials).toEqual(testCredentials);
  for (const row of await rowsOf(rows)) {
    expect(row).toMatchObject({ status: "COMPLETED", provider_request_id: "request-1", provider_error_code: null, attempt_count: 1 });
    expect(row.uploaded_at).not.toBeNull();
  }
  const [started, finished, ...more] = await readAttempts(app.sql, team);
  expect(more).toEqual([]);
  expect(started).toMatchObject({ phase: "STARTED", claimed_count: 3, batch_id: provider.uploads[0]?.connection.batchId });
  expect(finished).toMatchObject({ phase: "FINISHED", batch_id: started?.batch_id, completed_count: 3, failed_count: 0, retry_count: 0 });
  expect(finished).toMatchObject({ provider_request_id: "request-1", error_code: null });
  expect(await metricsOf(team)).toEqual({ attempts_total: 3, completed_total: 3, failed_total: 0, retry_total: 0 });
  const [{ dispatches } = { dispatches: 0 }] = await app.sql`select count(*)::int as dispatches from public.provider_dispatches
    where site_id = ${team.siteUuid} and transport = 'data_manager'`;
  expect(dispatches).toBe(3);
  expect(await deliver(provider)).toEqual({ ok: true, processed: 0, completed: 0, failed: 0, retry: 0 });
});

// Guarantee: one bad row neither blocks the others nor is tried for ever; each row shows what the provider said of it.
test("partial failure: each row gets its own outcome, and one success keeps the circuit closed", async () => {
  const team = await app.newSite();
  const rows = await app.seal(team, 3);
  const provider = scriptedProvider(([first, second, third]) => ({
    results: [
      accepted(first as ConversionJob),
      failed(second as ConversionJob, { code: "UNPARSEABLE_GCLID", category: "VALIDATION", message: "The gclid cannot be read." }),
      failed(third as ConversionJob, { status: "RETRY", code: "UNAVAILABLE", category: "TRANSIENT" }),
    ],
  }));
  expect(await deliver(provider)).toEqual({ ok: true, processed: 3, completed: 1, failed: 1, retry: 1 });
  const [first, second, third] = await rowsOf(rows);
  expect(first).toMatchObject({ status: "COMPLETED" });
  expect(second).toMatchObject({ status: "FAILED", provider_error_code: "UNPARSEABLE_GCLID", provider_error_category: "VALIDATION" });
  expect(second).toMatchObject({ last_error: "The gclid cannot be read.", uploaded_at: null, next_retry_at: null });
  expect(third).toMatchObject({
    status: "RETRY",
    provider_error_code: "UNAVAILABLE",
    provider_error_category: "TRANSIENT",
    uploaded_at: null,
  });
  expect(third?.next_retry_at).not.toBeNull();
  const [, finished] = await readAttempts(app.sql, team);
  expect(finished).toMatchObject({ completed_count: 1, failed_count: 1, retry_count: 1, error_code: "UNPARSEABLE_GCLID" });
  expect(await readHealth(app.sql, team)).toMatchObject({ state: "CLOSED", failure_count: 0 });
});

test("validation failures alone do not count against the circuit", async () => {
  const team = await app.newSite();
  await app.seal(team);
  await deliver(
    scriptedProvider((jobs) => ({ results: jobs.map((job) => failed(job, { code: "EXPIRED_EVENT", category: "VALIDATION" })) })),
  );
  expect(await readHealth(app.sql, team)).toMatchObject({ state: "CLOSED", failure_count: 0 });
});

describe("an adapter that throws", () => {
  // Guarantee: a crash in one site's upload is a retry with the reason on the row, never a lost or a falsely failed conversion.
  test("RETRY, TRANSIENT, no code, the reason without secrets, and one transient failure", async () => {
    const team = await app.newSite();
    const rows = await app.seal(team, 2);
    const provider = scriptedProvider(() => {
      throw new TypeError("no such field for refresh-token-of-tests of +905321234567");
    });
    expect(await deliver(provider)).toEqual({ ok: true, processed: 2, completed: 0, failed: 0, retry: 2 });
    for (const row of await rowsOf(rows)) {
      expect(row).toMatchObject({ status: "RETRY", provider_error_code: null, provider_error_category: "TRANSIENT", attempt_count: 1 });
      expect(row.last_error).toBe("TypeError: no such field for [secret] of …67");
    }
    const [, finished] = await readAttempts(app.sql, team);
    expect(finished).toMatchObject({ retry_count: 2, error_code: null, error_category: "TRANSIENT" });
    expect(await readHealth(app.sql, team)).toMatchObject({ state: "CLOSED", failure_count: 1 });
  });

  // Guarantee: an hour without Google costs no sale. A row's attempts are for answers; the circuit counts both.
  test.each([
    ["no answer", new ProviderTransientError("could not be reached", "NETWORK_ERROR"), { attempt_base: 1, free_waits: 1 }],
    ["a timeout", new ProviderTransientError("did not answer", "TIMEOUT"), { attempt_base: 1, free_waits: 1 }],
    ["a 503", new ProviderTransientError("answered 503"), { attempt_base: 0, free_waits: 0 }],
  ])("%s: one transient failure; only an answer spends the attempt", async (_name, error, spent) => {
    const team = await app.newSite();
    const [row] = await app.seal(team);
    await deliver(scriptedProvider(() => Promise.reject(error)));
    expect(await readRow(app.sql, String(row?.id))).toMatchObject({
      status: "RETRY",
      attempt_count: 1,
      provider_error_code: null,
      ...spent,
    });
    expect(await readRow(app.sql, String(row?.id))).toMatchObject({ may_have_arrived: true });
    expect(await readHealth(app.sql, team)).toMatchObject({ state: "CLOSED", failure_count: 1 });
  });

  // Guarantee: what Google took before the failure is not sent again.
  test("what was decided before the throw stays decided", async () => {
    const team = await app.newSite();
    const rows = await app.seal(team, 2);
    const provider = scriptedProvider(([first]) => {
      const error = new ProviderTransientError("Google answered 503");
      error.decided = { results: [accepted(first as ConversionJob)] };
      throw error;
    });
    expect(await deliver(provider)).toMatchObject({ completed: 1, retry: 1 });
    expect((await rowsOf(rows)).map(({ status }) => status)).toEqual(["COMPLETED", "RETRY"]);
  });

  test("an ordinary rate limit spends an attempt; a wait of ten minutes or more does not", async () => {
    const team = await app.newSite();
    const rows = await app.seal(team);
    const limited = (minutes: number) =>
      scriptedProvider(() => {
        throw new ProviderRateLimitError("slow down", { until: new Date(Date.now() + minutes * 60_000), isShared: false });
      });
    await deliver(limited(60));
    const [waiting] = await rowsOf(rows);
    expect(waiting).toMatchObject({ status: "RETRY", provider_error_code: "RATE_LIMIT", provider_error_category: "RATE_LIMIT" });
    expect(waiting).toMatchObject({ attempt_count: 1, attempt_base: 1, free_waits: 1 });
    expect(await readHealth(app.sql, team)).toMatchObject({ failure_count: 0 });
    const other = await app.newSite();
    const [row] = await app.seal(other);
    await deliver(limited(1));
    expect(await readRow(app.sql, String(row?.id))).toMatchObject({ attempt_count: 1, attempt_base: 0, free_waits: 0 });
    expect(await readHealth(app.sql, other)).toMatchObject({ failure_count: 1 });
  });

  // Guarantee: one site's broken account does not keep the others' conversions.
  test("one group that throws or hangs does not take the others with it", async () => {
    const [throwing, hanging, well] = [await app.newSite(), await app.newSite(), await app.newSite()];
    for (const team of [throwing, hanging, well]) await app.seal(team);
    const hangs = Promise.withResolvers<void>();
    const provider = scriptedProvider((jobs, { siteUuid }) => {
      if (siteUuid === throwing.siteUuid) throw new Error("broken");
      if (siteUuid !== hanging.siteUuid) return { results: jobs.map((job) => accepted(job)) };
      hangs.resolve();
      return new Promise(() => {}); // and it ignores the signal
    });
    const uploads = new AbortController();
    vi.spyOn(AbortSignal, "timeout").mockReturnValueOnce(uploads.signal); // the run's time for uploads, which the test ends
    const run = deliver(provider);
    await hangs.promise;
    for (const team of [throwing, well]) while ((await readAttempts(app.sql, team)).length < 2);
    uploads.abort(new DOMException("The run's time for uploads is over.", "TimeoutError"));
    expect(await run).toEqual({ ok: true, processed: 3, completed: 1, failed: 0, retry: 2 });
    const [, finished] = await readAttempts(app.sql, hanging);
    expect(finished).toMatchObject({ phase: "FINISHED", retry_count: 1, error_category: "TRANSIENT" });
  });
});
