import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { change } from "#tests/fixtures/leads.ts";
import { minutesLater } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import {
  actOn,
  all,
  batchOf,
  type Claim,
  claim,
  db,
  later,
  lead,
  nextSite,
  openSignals,
  recover,
  sent,
  settle,
  signal,
  team,
} from "#tests/support/signal-scene.ts";
import { recordVerdict } from "#tests/support/verdicts.ts";

beforeAll(openSignals);
afterAll(() => db.drop());
beforeEach(nextSite);

describe("settling", () => {
  let claimed: Claim;
  beforeEach(async () => {
    await lead();
    claimed = await claim(1);
  });

  // Guarantee: a sent signal carries its proof, and its verdict is asked for.
  test("COMPLETED is SENT with its proof, and the request is polled", async () => {
    expect(await settle(claimed, all(claimed, sent), 2)).toEqual({ completed: 1, retried: 0, failed: 0, stale: 0 });
    expect(await signal()).toMatchObject({
      dispatch_status: "SENT",
      google_sent_at: minutesLater(2),
      transport: "data_manager",
      provider_request_id: "req-1",
      record_index: 0,
      verdict: null,
    });
    const [request] = await db.sql`select * from public.provider_requests where site_id = ${team.siteUuid}`;
    expect(request).toMatchObject({
      request_id: "req-1",
      pipeline: "signals",
      row_count: 1,
      customer_id: "1234567890",
      next_poll_at: minutesLater(3),
      finished_at: null,
    });
    const lines = await db.sql`select * from public.provider_upload_attempts where batch_id = ${claimed.token} order by id`;
    expect(lines[1]).toMatchObject({ phase: "FINISHED", completed_count: 1, duration_ms: 12 });
  });

  test("a verdict that comes at once is kept, and then nothing is polled", async () => {
    await settle(claimed, all(claimed, { ...sent, transport: "ads_api", verdict: "DUPLICATE" }), 2);
    expect(await signal()).toMatchObject({ transport: "ads_api", verdict: "DUPLICATE", verdict_at: minutesLater(2) });
    expect(await db.sql`select from public.provider_requests where site_id = ${team.siteUuid}`).toHaveLength(0);
  });

  // Guarantee: an answer that is written twice changes and counts nothing twice.
  test("settling again changes nothing", async () => {
    await settle(claimed, all(claimed, sent), 2);
    expect(await settle(claimed, all(claimed, later), 3)).toEqual({ completed: 0, retried: 0, failed: 0, stale: 1 });
    expect(await signal()).toMatchObject({ dispatch_status: "SENT", google_sent_at: minutesLater(2) });
    const [metrics] = await db.sql`select * from public.provider_upload_metrics where site_id = ${team.siteUuid}`;
    expect(metrics).toMatchObject({ attempts_total: "1", completed_total: "1", retry_total: "0" });
  });

  // Guarantee: a thrown adapter is no refusal: the signal waits, and only its budget ends it.
  test("RETRY waits, spends an attempt, and ends as MAX_ATTEMPTS", async () => {
    for (let attempt = 1, minute = 2; attempt <= 5; attempt += 1, minute += 120) {
      const batch = attempt === 1 ? claimed : await claim(minute);
      expect(batch.rows).toHaveLength(1);
      await settle(batch, all(batch, { outcome: "RETRY", category: "TRANSIENT", message: "threw" }), minute, null);
      if (attempt < 5) expect(await signal()).toMatchObject({ dispatch_status: "PENDING", provider_error_code: null, last_error: "threw" });
    }
    expect(await signal()).toMatchObject({
      dispatch_status: "FAILED",
      provider_error_code: "MAX_ATTEMPTS",
      provider_error_category: "PERMANENT",
      last_error: "MAX_ATTEMPTS_EXCEEDED: threw",
    });
  });

  test("a wait that is asked for is kept to the minute", async () => {
    await settle(claimed, all(claimed, { ...later, retryAt: minutesLater(77).toISOString() }), 2);
    expect((await signal()).next_retry_at).toEqual(minutesLater(77));
    expect((await claim(76)).rows).toEqual([]);
    expect((await claim(77)).rows).toHaveLength(1);
  });

  // Guarantee: a wait that Google asks for costs no attempt, but not for ever.
  test("free waits spend nothing, at most twenty", async () => {
    const free = { ...later, code: "TOO_RECENT_EVENT", free: true };
    for (let wait = 1, minute = 2; wait <= 20; wait += 1, minute += 120) {
      const batch = wait === 1 ? claimed : await claim(minute);
      await settle(batch, all(batch, { ...free, retryAt: minutesLater(minute + 1).toISOString() }), minute, null);
      expect(await signal()).toMatchObject({ dispatch_status: "PENDING", attempt_count: wait, attempt_base: wait, free_waits: wait });
    }
    for (let attempt = 1, minute = 3000; attempt <= 5; attempt += 1, minute += 120) {
      const batch = await claim(minute);
      expect(batch.rows).toHaveLength(1);
      await settle(batch, all(batch, free), minute, null);
    }
    expect(await signal()).toMatchObject({
      dispatch_status: "FAILED",
      attempt_count: 25,
      free_waits: 20,
      provider_error_code: "MAX_ATTEMPTS",
    });
  });

  test("a refusal of the signal itself is final", async () => {
    await settle(claimed, all(claimed, { outcome: "FAILED", category: "VALIDATION", code: "UNPARSEABLE_GCLID", message: "no" }), 2);
    expect(await signal()).toMatchObject({
      dispatch_status: "FAILED",
      provider_error_code: "UNPARSEABLE_GCLID",
      provider_error_category: "VALIDATION",
    });
    expect((await claim(600)).rows).toEqual([]);
  });

  // Guarantee: late news of a failure never ends somebody else's claim; a late success always counts.
  test("after recovery a failure is stale and a success is not", async () => {
    await recover(20);
    const second = await claim(21);
    expect(second.rows).toHaveLength(1);
    expect(await settle(claimed, all(claimed, later), 22)).toMatchObject({ stale: 1 });
    expect(await signal()).toMatchObject({ dispatch_status: "PROCESSING", claim_token: second.token });
    expect(await settle(claimed, all(claimed, sent), 23)).toMatchObject({ completed: 1 });
    expect((await signal()).dispatch_status).toBe("SENT");
    expect(await settle(second, all(second, later), 24)).toMatchObject({ stale: 1 });
  });

  // Guarantee: an id of another site is neither changed nor revealed.
  test("another site's settle changes nothing", async () => {
    const mine = team;
    actOn(await createQueueTeam(db.sql, "thief", mine.owner, "api"));
    expect(await settle(claimed, all(claimed, sent), 2, null)).toEqual({ completed: 0, retried: 0, failed: 0, stale: 1 });
    actOn(mine);
    expect((await signal()).dispatch_status).toBe("PROCESSING");
  });

  test("a settle without a token is refused", async () => {
    await expect(settle({ ...claimed, token: null as never }, [], 2)).rejects.toMatchObject({ message: "VALIDATION_FAILED" });
  });

  // Guarantee: a lead that turned out to be nothing while its signal was in flight is not tried again.
  test("a call that became junk meanwhile ends its signal", async () => {
    const { call_id } = await signal();
    await change(db.sql, { team }, "change_call", { id: call_id, to: "junk" }, { at: minutesLater(2) });
    expect(await settle(claimed, all(claimed, later), 3)).toMatchObject({ failed: 1 });
    expect(await signal()).toMatchObject({ dispatch_status: "FAILED", last_error: "CALL_IS_JUNK", provider_error_category: null });
  });
});

// Guarantee: a click that another conversion of the same second has is not taken for our own because Google was busy at the first try.
// Mutations that break it: judge by attempt_count in record_signal_verdicts; the same in the claim.
test.each([
  ["a rate limit", { outcome: "RETRY", category: "RATE_LIMIT", code: "RATE_LIMIT" }, "REJECTED"],
  ["a failure of Google's own", later, "DUPLICATE"],
])("a duplicate by its click after %s is judged by what may have arrived", async (_name, answer, verdict) => {
  await lead();
  const first = await claim(1);
  await settle(first, all(first, answer), 2, batchOf(first, "transient"));
  const second = await claim(60);
  expect(second.rows).toMatchObject([{ attemptCount: 2, mayHaveArrived: verdict === "DUPLICATE" }]);
  await settle(second, all(second, sent), 61);
  await recordVerdict(db.sql, team, sent.requestId, "DUPLICATE", minutesLater(100), { byClick: true });
  expect(await signal()).toMatchObject({ verdict });
});

// Guarantee: a signal that Google may have counted is not called rejected because its second hand-out was.
test("a rejection after a hand-out that nobody answered for leaves it unknown", async () => {
  await lead();
  const first = await claim(1);
  await settle(first, all(first, later), 2, batchOf(first, "transient"));
  const second = await claim(60);
  await settle(second, all(second, sent), 61);
  await recordVerdict(db.sql, team, sent.requestId, "REJECTED", minutesLater(100), { reason: "INTERNAL_ERROR" });
  expect(await signal()).toMatchObject({ verdict: "UNKNOWN", verdict_reason: "INTERNAL_ERROR" });
});
