import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processOfflineConversions } from "#lib/delivery/process-offline-conversions.ts";
import type { ConversionJob, UploadResult } from "#lib/providers/port.ts";
import { ProviderRateLimitError, ProviderTransientError } from "#lib/providers/provider-error.ts";
import { readRow } from "#tests/fixtures/queue.ts";
import { openCircuit, readHealth } from "#tests/support/circuit.ts";
import { accepted, type DeliveryApp, readAttempts, scriptedProvider, startDeliveryApp } from "#tests/support/delivery-app.ts";

let app: DeliveryApp;
beforeAll(async () => {
  app = await startDeliveryApp();
});
afterAll(() => app.stop());

const deliver = (provider = scriptedProvider(), more: { limit?: number; deadlineMs?: number; now?: () => Date } = {}) =>
  processOfflineConversions({ limit: 500, deadlineMs: 60_000, provider, ...more });

const rowsOf = (ids: { id: string }[]) => Promise.all(ids.map(({ id }) => readRow(app.sql, id)));
const failed = ({ id, via }: ConversionJob, more: Partial<UploadResult>): UploadResult => ({
  id,
  status: "FAILED",
  transport: via,
  ...more,
});

describe("the circuit", () => {
  // Guarantee: while a provider is ill nobody calls it, and waiting costs no attempt.
  test("open: due rows are deferred to the probe time, with the pair in the ledger and no call", async () => {
    const team = await app.newSite();
    const rows = await app.seal(team, 2);
    const probeAt = await openCircuit(app.sql, team, new Date());
    const provider = scriptedProvider();
    expect(await deliver(provider)).toEqual({ ok: true, processed: 2, completed: 0, failed: 0, retry: 2 });
    expect(provider.uploads).toEqual([]);
    for (const row of await rowsOf(rows)) {
      expect(row).toMatchObject({ status: "RETRY", last_error: "CIRCUIT_OPEN", provider_error_code: "CIRCUIT_OPEN", attempt_count: 0 });
      const waitMs = row.next_retry_at.getTime() - probeAt.getTime();
      expect(waitMs).toBeGreaterThanOrEqual(0);
      expect(waitMs).toBeLessThanOrEqual(30_000);
    }
    const attempts = await readAttempts(app.sql, team);
    expect(attempts.map(({ phase }) => phase)).toEqual(["STARTED", "FINISHED"]);
    expect(attempts[1]).toMatchObject({ retry_count: 2, error_code: "CIRCUIT_OPEN", error_category: "TRANSIENT" });
  });

  test("due for a probe: at most probe_limit rows go, and a success closes it", async () => {
    const team = await app.newSite();
    await app.seal(team, 7);
    await openCircuit(app.sql, team, new Date(Date.now() - 30 * 60_000));
    const provider = scriptedProvider();
    expect(await deliver(provider)).toMatchObject({ processed: 5, completed: 5 });
    expect(await readHealth(app.sql, team)).toMatchObject({ state: "CLOSED", failure_count: 0 });
    expect(await deliver(provider)).toMatchObject({ completed: 2 });
  });

  test("a probe that fails opens it again", async () => {
    const team = await app.newSite();
    await app.seal(team, 2);
    await openCircuit(app.sql, team, new Date(Date.now() - 30 * 60_000));
    await deliver(
      scriptedProvider(() => {
        throw new ProviderTransientError("Google answered 503");
      }),
    );
    const health = await readHealth(app.sql, team);
    expect(health.state).toBe("OPEN");
    expect(health.next_probe_at.getTime()).toBeGreaterThan(Date.now() + 4 * 60_000);
  });

  // Guarantee: five failures in a row open it; the worker adds one for each run that fails.
  test("five runs that fail open it", async () => {
    const team = await app.newSite();
    const provider = scriptedProvider(() => {
      throw new ProviderTransientError("Google answered 500");
    });
    for (let run = 1; run <= 5; run++) {
      await app.seal(team);
      await deliver(provider);
      expect(await readHealth(app.sql, team)).toMatchObject({ state: run < 5 ? "CLOSED" : "OPEN", failure_count: run });
    }
  });
});

// Guarantee: refused credentials stop the site's backlog at the first batch instead of burning all of it.
test("a block ends the site's run after one batch; other rows keep their attempts", async () => {
  const team = await app.newSite();
  const rows = await app.seal(team, 2);
  const provider = scriptedProvider((jobs) => ({
    results: jobs.map((job) => failed(job, { code: "INVALID_GRANT", category: "AUTH", message: "reconnect" })),
    block: { code: "INVALID_GRANT", message: "The refresh token was revoked." },
  }));
  await deliver(provider, { limit: 1 });
  expect(await deliver(provider)).toMatchObject({ processed: 0 });
  expect(provider.uploads).toHaveLength(1);
  const [first, second] = await rowsOf(rows);
  expect(first).toMatchObject({ status: "FAILED", provider_error_category: "AUTH", provider_error_code: "INVALID_GRANT" });
  expect(second).toMatchObject({ status: "QUEUED", attempt_count: 0 });
  expect(await readHealth(app.sql, team)).toMatchObject({ blocked_code: "INVALID_GRANT" });
});

// Guarantee: sites that share a quota do not spend their attempts one after the other on hearing the same.
test("a quota of the OAuth client makes every site wait that comes with the same client, and no other", async () => {
  const withClient = (clientIdTail: string) => app.newSite({ clientIdTail });
  const [first, second, other] = [await withClient("shared"), await withClient("shared"), await withClient("theirs")];
  const rows = [...(await app.seal(first)), ...(await app.seal(second)), ...(await app.seal(other))];
  const quota = { until: new Date(Date.now() + 120_000), isShared: true };
  const provider = scriptedProvider((jobs, { siteUuid }) => {
    if (siteUuid === other.siteUuid) return { results: jobs.map((job) => accepted(job)) };
    throw new ProviderRateLimitError("slow down", quota);
  });
  await deliver(provider, { limit: 1 });
  await deliver(provider);
  const calls = provider.uploads.map(({ connection }) => connection.siteUuid);
  expect(calls.filter((site) => site !== other.siteUuid)).toHaveLength(1);
  expect(await readHealth(app.sql, first)).toMatchObject({ quota_until: quota.until });
  expect(await readHealth(app.sql, second)).toMatchObject({ quota_until: quota.until });
  expect(await readHealth(app.sql, other)).toMatchObject({ quota_until: null });
  const attempts = (await rowsOf(rows)).map(({ attempt_count }) => attempt_count);
  expect([attempts.slice(0, 2).reduce((sum, count) => sum + count), attempts[2]]).toEqual([1, 1]);
});

test("a conversion action at fault is blocked by its name, and nothing else", async () => {
  const team = await app.newSite();
  await app.seal(team);
  await deliver(
    scriptedProvider((jobs) => ({
      results: jobs.map((job) =>
        failed(job, { code: "NO_CONVERSION_ACTION_FOUND", category: "VALIDATION", message: "gone", blocksAction: true }),
      ),
    })),
  );
  const blocked = await app.sql`select conversion_name, blocked_code from public.provider_conversion_actions
    where site_id = ${team.siteUuid} and blocked_at is not null`;
  expect(blocked).toMatchObject([{ conversion_name: "OpsMantik_V5_DEMIR_MUHUR", blocked_code: "NO_CONVERSION_ACTION_FOUND" }]);
  expect(await readHealth(app.sql, team)).toMatchObject({ blocked_at: null });
});

describe("limits", () => {
  // Guarantee: a run is bounded, and a site with a great backlog does not keep a small one waiting.
  test("the limit is shared by backlog", async () => {
    const [big, small] = [await app.newSite(), await app.newSite()];
    await app.seal(big, 9);
    await app.seal(small, 1);
    const provider = scriptedProvider();
    expect(await deliver(provider, { limit: 5 })).toMatchObject({ processed: 5 });
    const sent = Object.fromEntries(provider.uploads.map(({ jobs, connection }) => [connection.siteUuid, jobs.length]));
    expect(sent).toEqual({ [big.siteUuid]: 4, [small.siteUuid]: 1 });
    await deliver(provider);
  });

  // Guarantee: a run that is out of time claims nothing more, so the platform never kills it with rows in its hands.
  test("no time left: nothing is claimed", async () => {
    const team = await app.newSite();
    const rows = await app.seal(team);
    const provider = scriptedProvider();
    expect(await deliver(provider, { deadlineMs: 0 })).toMatchObject({ processed: 0 });
    expect(await rowsOf(rows)).toMatchObject([{ status: "QUEUED", attempt_count: 0 }]);
    expect(await deliver(provider)).toMatchObject({ completed: 1 });
  });

  // Guarantee: a second worker that starts while the first is at work never sends what the first has.
  test("two workers at once send each row once", async () => {
    const team = await app.newSite();
    await app.seal(team, 6);
    const sending = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const slow = scriptedProvider(async (jobs) => {
      sending.resolve();
      await finish.promise;
      return { results: jobs.map((job) => accepted(job)) };
    });
    const first = deliver(slow, { limit: 4 });
    await sending.promise;
    const quick = scriptedProvider();
    expect(await deliver(quick)).toMatchObject({ processed: 2, completed: 2 });
    finish.resolve();
    expect(await first).toMatchObject({ processed: 4, completed: 4 });
    const ids = [...slow.uploads, ...quick.uploads].flatMap(({ jobs }) => jobs.map(({ id }) => id));
    expect(new Set(ids).size).toBe(6);
  });
});
