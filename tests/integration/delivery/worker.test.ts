import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { deliverGroup } from "#lib/delivery/deliver-group.ts";
import type { Pipeline } from "#lib/delivery/pipeline.ts";
import { processOfflineConversions } from "#lib/delivery/process-offline-conversions.ts";
import { startBudget } from "#lib/delivery/run-budget.ts";
import { sealPipeline } from "#lib/delivery/seal-pipeline.ts";
import type { ConversionJob, UploadResult } from "#lib/providers/port.ts";
import { ProviderRateLimitError, ProviderTransientError } from "#lib/providers/provider-error.ts";
import { connectApi, defaultNames } from "#tests/fixtures/connections.ts";
import { readRow } from "#tests/fixtures/queue.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { openCircuit, readHealth } from "#tests/support/circuit.ts";
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
afterAll(() => app.stop());

const deliver = (provider = scriptedProvider(), more: { limit?: number; deadlineMs?: number; now?: () => Date } = {}) =>
  processOfflineConversions({ limit: 500, deadlineMs: 60_000, provider, ...more });

const rowsOf = (ids: { id: string }[]) => Promise.all(ids.map(({ id }) => readRow(app.sql, id)));
const metricsOf = async (team: Team) =>
  (
    await app.sql`select attempts_total::int, completed_total::int, failed_total::int, retry_total::int
    from public.provider_upload_metrics where site_id = ${team.siteId}`
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
    where site_id = ${team.siteId} and transport = 'data_manager'`;
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
    const provider = scriptedProvider((jobs, { siteUuid }) => {
      if (siteUuid === throwing.siteId) throw new Error("broken");
      if (siteUuid === hanging.siteId) return new Promise(() => {}); // and it ignores the signal
      return { results: jobs.map((job) => accepted(job)) };
    });
    expect(await deliver(provider, { deadlineMs: 3_000 })).toEqual({ ok: true, processed: 3, completed: 1, failed: 0, retry: 2 });
    const [, finished] = await readAttempts(app.sql, hanging);
    expect(finished).toMatchObject({ phase: "FINISHED", retry_count: 1, error_category: "TRANSIENT" });
  });
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
    if (siteUuid === other.siteId) return { results: jobs.map((job) => accepted(job)) };
    throw new ProviderRateLimitError("slow down", quota);
  });
  await deliver(provider, { limit: 1 });
  await deliver(provider);
  const calls = provider.uploads.map(({ connection }) => connection.siteUuid);
  expect(calls.filter((site) => site !== other.siteId)).toHaveLength(1);
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
    where site_id = ${team.siteId} and blocked_at is not null`;
  expect(blocked).toMatchObject([{ conversion_name: "OpsMantik_V5_DEMIR_MUHUR", blocked_code: "NO_CONVERSION_ACTION_FOUND" }]);
  expect(await readHealth(app.sql, team)).toMatchObject({ blocked_at: null });
});

// Guarantee: a server with the wrong vault key sends nothing, fails nothing and says which variable is wrong.
test("credentials that do not open: rows wait, no attempt is spent, nothing is blocked", async () => {
  const team = await app.newSite();
  const rows = await app.seal(team);
  await connectApi(app.sql, team); // sealed with a key that nobody has
  const provider = scriptedProvider();
  expect(await deliver(provider)).toMatchObject({ processed: 1, retry: 1 });
  const [row] = await rowsOf(rows);
  expect(row).toMatchObject({ status: "RETRY", provider_error_code: "VAULT_KEY_MISMATCH", attempt_count: 0 });
  expect(row?.last_error).toContain("OPSMANTIK_VAULT_KEY");
  expect(provider.uploads).toEqual([]);
  expect(await readHealth(app.sql, team)).toMatchObject({ state: "CLOSED", failure_count: 0, blocked_at: null });
});

// Guarantee: credentials that an older version stored are a sentence on the rows, not a run that throws every ten minutes and says nothing.
test("credentials that open and are incomplete: rows wait, no attempt is spent, and the field is named", async () => {
  const team = await app.newSite();
  const rows = await app.seal(team);
  const { refresh_token: _token, ...incomplete } = testCredentials;
  await app.connect(team, { credentials: incomplete as typeof testCredentials });
  const provider = scriptedProvider();
  expect(await deliver(provider)).toMatchObject({ processed: 1, retry: 1 });
  const [row] = await rowsOf(rows);
  expect(row).toMatchObject({ status: "RETRY", provider_error_code: "CREDENTIALS_UNREADABLE", attempt_count: 0 });
  expect(row?.last_error).toContain("refresh_token");
  expect(provider.uploads).toEqual([]);
  expect(await readHealth(app.sql, team)).toMatchObject({ state: "CLOSED", failure_count: 0, blocked_at: null });
});

// Guarantee: rows that were claimed for a new account never leave with the old one's access: Data Manager would count them in the old account.
// Mutation that breaks it: send with the credentials at hand when the claim's do not open.
describe("another account is connected between reading the credentials and claiming", () => {
  const other = { ...testCredentials, customer_id: "5555555555" };
  const actions = [{ conversionName: defaultNames.seal, action: "customers/5555555555/conversionActions/1" }];
  async function deliverWhile(team: Team, before: () => Promise<unknown>, after: () => Promise<unknown> = async () => undefined) {
    const provider = scriptedProvider();
    const claim: Pipeline["claim"] = async (...args) => {
      await before();
      const claimed = await sealPipeline.claim(...args);
      await after();
      return claimed;
    };
    const group = (await sealPipeline.listGroups()).find(({ siteUuid }) => siteUuid === team.siteId);
    if (!group) throw new Error("The site has no due rows.");
    const run = { provider, now: () => new Date(), budget: startBudget(60_000) };
    return { provider, tally: await deliverGroup({ ...sealPipeline, claim }, group, 2, run) };
  }

  test("credentials that open are used", async () => {
    const team = await app.newSite();
    await app.seal(team);
    const { provider } = await deliverWhile(team, () => app.connect(team, { credentials: other, actions }));
    expect(provider.uploads).toMatchObject([
      { connection: { credentials: { customer_id: "5555555555" } }, jobs: [{ conversionAction: actions[0]?.action }] },
    ]);
  });

  test("credentials that do not open: the rows wait, and no attempt is spent", async () => {
    const team = await app.newSite();
    const rows = await app.seal(team, 2);
    const { provider, tally } = await deliverWhile(team, () => connectApi(app.sql, team, { actions })); // sealed with a key that nobody has
    expect(provider.uploads).toEqual([]);
    expect(tally).toEqual({ claimed: 2, completed: 0, failed: 0, retry: 2 });
    for (const row of await rowsOf(rows)) {
      expect(row).toMatchObject({ status: "RETRY", provider_error_code: "VAULT_KEY_MISMATCH", free_waits: 1, may_have_arrived: false });
      expect(row.attempt_count - row.attempt_base).toBe(0);
    }
    expect(await readHealth(app.sql, team)).toMatchObject({ state: "CLOSED", failure_count: 0, blocked_at: null });
  });

  test("credentials that changed once more after the claim: the rows wait", async () => {
    const team = await app.newSite();
    const rows = await app.seal(team);
    const moveAway = () => app.connect(team, { credentials: other, actions });
    const { provider } = await deliverWhile(team, () => app.connect(team), moveAway);
    expect(provider.uploads).toEqual([]);
    expect(await rowsOf(rows)).toMatchObject([{ status: "RETRY", provider_error_code: "CREDENTIALS_CHANGED", free_waits: 1 }]);
  });
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
    expect(sent).toEqual({ [big.siteId]: 4, [small.siteId]: 1 });
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
