import type postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { actionOf, connectApi, defaultActions, defaultNames } from "#tests/fixtures/connections.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { minutesLater, sealedAt } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { callIn, service } from "#tests/fixtures/service.ts";
import { deliverySettings, switchDelivery } from "#tests/fixtures/site.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { openCircuit, readHealth } from "#tests/support/circuit.ts";
import { readStats } from "#tests/support/control.ts";
import { forceRace } from "#tests/support/force-race.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { recordVerdict } from "#tests/support/verdicts.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let db: TestDatabase;
let founder: Person;
let team: Team;
let number = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  founder = await createPerson(db.sql, "founder@signals.test");
});
afterAll(() => db.drop());
beforeEach(async () => {
  number += 1;
  team = await createQueueTeam(db.sql, `signal${number}`, founder, "api");
  await deliverySettings(db.sql, team, { signalsEnabled: true });
  await connectApi(db.sql, team);
});

interface Job {
  id: string;
  orderId: string;
  via: string;
  attemptCount: number;
  [more: string]: unknown;
}
interface Claim {
  token: string;
  gate: string;
  rows: Job[];
  batch: { credentialsVersion: number | null };
}
interface Group {
  site_id: string;
  queued_count: number;
  is_probe_due: boolean;
}
const lead = (at = sealedAt) => newLead(db.sql, team, { at, visitor: `visitor-${Math.random()}` });
const claimArgs = (limit = 10) => ({ p_site_id: team.siteId, p_provider_key: "google_ads", p_limit: limit });
const claim = (minute: number, limit = 10) => service<Claim>(db.sql, "claim_marketing_signal_jobs", claimArgs(limit), minutesLater(minute));
const groups = async (minute: number) => {
  const all = await service<Group[]>(db.sql, "list_signal_groups", { p_limit_groups: 100 }, minutesLater(minute));
  return all.filter(({ site_id }) => site_id === team.siteId);
};
const batchOf = ({ batch }: Claim, outcome = "success", more: object = {}) => ({
  provider: "google_ads",
  outcome,
  credentialsVersion: batch.credentialsVersion,
  durationMs: 12,
  firstPollSeconds: 60,
  customerId: "1234567890",
  ...more,
});
const settle = (claimed: Claim, results: object[], minute: number, batch: object | null = batchOf(claimed)) =>
  service<{ completed: number; retried: number; failed: number; stale: number }>(
    db.sql,
    "settle_marketing_signal_jobs",
    { p_site_id: team.siteId, p_token: claimed.token, p_results: results, p_batch: batch },
    minutesLater(minute),
  );
const all = ({ rows }: Claim, result: object) => rows.map(({ id }) => ({ id, ...result }));
const sent = { outcome: "COMPLETED", transport: "data_manager", requestId: "req-1", recordIndex: 0 };
const later = { outcome: "RETRY", category: "TRANSIENT", code: "UNAVAILABLE", words: "down" };
const refused = { outcome: "FAILED", category: "AUTH", code: "invalid_grant", words: "revoked" };
const recover = (minute: number) => service(db.sql, "recover_marketing_signals", {}, minutesLater(minute));
const signal = async (): Promise<postgres.Row> => {
  const [row] = await db.sql`select * from public.marketing_signals where site_id = ${team.siteId} order by created_at limit 1`;
  if (!row) throw new Error("There is no signal.");
  return row;
};

describe("claiming", () => {
  // Guarantee: what a worker needs to send is in the row, and the order id is the script's, so a switch never counts twice.
  test("a claim hands out what has to be sent and starts a batch", async () => {
    const callId = await lead();
    expect(await groups(1)).toMatchObject([{ queued_count: 1, state: "CLOSED", probe_limit: 5, is_probe_due: false, served_at: null }]);
    const { token, gate, rows, batch } = await claim(1);
    expect({ gate, batch }).toEqual({ gate: "CLOSED", batch: { credentialsVersion: 1 } });
    const stored = await signal();
    expect(rows).toEqual([
      {
        id: stored.id,
        kind: "CONVERSION",
        signalType: "INTENT_CAPTURED",
        orderId: `signal_${stored.id}`,
        conversionName: defaultNames.INTENT_CAPTURED,
        conversionAction: actionOf(4),
        via: "data_manager",
        valueCents: Number(stored.conversion_value) * 100,
        currency: "TRY",
        conversionTime: expect.any(String),
        timezone: "Europe/Istanbul",
        attemptCount: 1,
        gclid: expect.stringContaining("gclid-"),
        wbraid: null,
        gbraid: null,
        clickedAt: expect.any(String),
        customerHash: null,
        emailHash: null,
        channel: "phone",
        consent: null,
        mayHaveArrived: false,
      },
    ]);
    expect(stored).toMatchObject({
      call_id: callId,
      dispatch_status: "PROCESSING",
      conversion_action: actionOf(4),
      order_id: `signal_${stored.id}`,
    });
    const lines = await db.sql`select phase, claimed_count from public.provider_upload_attempts where batch_id = ${token}`;
    expect(lines.map((line) => ({ ...line }))).toEqual([{ phase: "STARTED", claimed_count: 1 }]);
    expect(await readHealth(db.sql, team)).toMatchObject({ served_at: null, signals_served_at: minutesLater(1) });
    expect(await groups(1)).toEqual([]);
  });

  // Guarantee: Google is told of consent only where the visitor gave it in so many words.
  test("a visitor who agreed is sent as one who agreed", async () => {
    await newLead(db.sql, team, { at: sealedAt, visitor: "agreed" });
    await db.sql.begin(async (tx) => {
      await tx`select set_config('opsmantik.now', ${minutesLater(1).toISOString()}, true)`;
      await tx`select public.record_consent(${team.siteId}, ${tx.json({ visitor: "agreed", scopes: ["analytics", "marketing"], ageMs: 0 })})`;
    });
    expect((await claim(2)).rows).toMatchObject([{ consent: "GRANTED" }]);
  });

  // Guarantee: whatever a group counts can be claimed, and what it does not count cannot.
  test.each([
    ["switched off", () => deliverySettings(db.sql, team, { signalsEnabled: false })],
    [
      "on a site whose script sends",
      () => callAs(db.sql, team.owner, (tx) => tx`select public.switch_delivery(${team.publicId}, 'script')`),
    ],
    ["without a connection", () => callAs(db.sql, team.owner, (tx) => tx`select public.disconnect_provider(${team.publicId})`)],
    ["without an action for its name", () => connectApi(db.sql, team, { actions: defaultActions.slice(0, 3) })],
    ["on a blocked site", () => db.sql`select private.block_connection(${team.siteId}, 'google_ads', 'A', 'a')`],
    [
      "with a blocked action",
      () => db.sql`update public.provider_conversion_actions set blocked_at = now(), blocked_code = 'A' where site_id = ${team.siteId}`,
    ],
    ["with a click that is too young", () => deliverySettings(db.sql, team, { clickMinAgeHours: 6 })],
    ["of an archived site", () => callAs(db.sql, team.owner, (tx) => tx`select public.set_site_archived(${team.publicId}, true)`)],
  ])("a signal %s is neither listed nor claimed", async (_, prevent) => {
    await lead();
    expect(await groups(1)).toHaveLength(1);
    await prevent();
    expect(await groups(1)).toEqual([]);
    expect((await claim(1)).rows).toEqual([]);
    expect(await signal()).toMatchObject({ dispatch_status: "PENDING", attempt_count: 0 });
  });

  test("a signal of a junk call, of a withdrawn visitor or of an old click is neither listed nor claimed", async () => {
    const call = await lead();
    await change(db.sql, { team }, "change_call", { id: call, to: "junk" }, { at: minutesLater(1) });
    await newLead(db.sql, team, { at: sealedAt, visitor: "withdrawn" });
    const choice = { visitor: "withdrawn", scopes: [], ageMs: 0 };
    await db.sql.begin(async (tx) => {
      await tx`select set_config('opsmantik.now', ${minutesLater(1).toISOString()}, true)`;
      await tx`select public.record_consent(${team.siteId}, ${tx.json(choice)})`;
    });
    expect(await groups(2)).toEqual([]);
    expect((await claim(2)).rows).toEqual([]);
    await lead();
    const day = 24 * 60;
    expect(await groups(89 * day)).toHaveLength(1);
    expect(await groups(91 * day)).toEqual([]);
    expect((await claim(91 * day)).rows).toEqual([]);
  });

  // Guarantee: two workers never send the same signal, and the second does not come away empty while others wait.
  test("two workers at once share no signal", async () => {
    await lead();
    await lead();
    let first: Claim | undefined;
    const second = await whileOpen(
      db.sql,
      async (tx) => {
        await tx`select set_config('opsmantik.now', ${minutesLater(1).toISOString()}, true)`;
        first = await callIn<Claim>(tx, "claim_marketing_signal_jobs", claimArgs(1));
      },
      () => claim(1, 1),
    );
    expect(first?.rows).toHaveLength(1);
    expect(second.rows).toHaveLength(1);
    expect(second.rows[0]?.id).not.toBe(first?.rows[0]?.id);
  });

  // Guarantee: signals and seals share one circuit: neither probes beside the other.
  test("an open circuit lets none through; its probe takes at most five, and gives its lease back without any", async () => {
    for (let n = 0; n < 7; n += 1) await lead();
    await openCircuit(db.sql, team, minutesLater(0));
    expect(await claim(1)).toMatchObject({ gate: "OPEN", rows: [] });
    expect(await groups(7)).toMatchObject([{ queued_count: 7, state: "OPEN", is_probe_due: true }]);
    await deliverySettings(db.sql, team, { signalsEnabled: false });
    expect(await claim(7)).toMatchObject({ gate: "HALF_OPEN", rows: [] });
    expect((await readHealth(db.sql, team)).state).toBe("OPEN");
    await deliverySettings(db.sql, team, { signalsEnabled: true });
    const probe = await claim(7);
    expect(probe.gate).toBe("HALF_OPEN");
    expect(probe.rows).toHaveLength(5);
    expect((await claim(7)).gate).toBe("OPEN");
    await settle(probe, all(probe, sent), 7);
    expect((await readHealth(db.sql, team)).state).toBe("CLOSED");
  });

  // Guarantee: a rename or another action between two tries never makes two conversions of one signal.
  test("name and action of the first hand-out stay", async () => {
    await lead();
    const first = await claim(1);
    await settle(first, all(first, later), 1, batchOf(first, "transient"));
    await deliverySettings(db.sql, team, { conversionNames: { INTENT_CAPTURED: "Renamed" } });
    const actions = [
      { conversionName: defaultNames.INTENT_CAPTURED, action: actionOf(99) },
      { conversionName: "Renamed", action: actionOf(98) },
    ];
    await connectApi(db.sql, team, { actions });
    const [again] = (await claim(60)).rows;
    expect(again).toMatchObject({ conversionName: defaultNames.INTENT_CAPTURED, conversionAction: actionOf(4), attemptCount: 2 });
  });
});

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
    const [request] = await db.sql`select * from public.provider_requests where site_id = ${team.siteId}`;
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
    expect(await db.sql`select from public.provider_requests where site_id = ${team.siteId}`).toHaveLength(0);
  });

  // Guarantee: an answer that is written twice changes and counts nothing twice.
  test("settling again changes nothing", async () => {
    await settle(claimed, all(claimed, sent), 2);
    expect(await settle(claimed, all(claimed, later), 3)).toEqual({ completed: 0, retried: 0, failed: 0, stale: 1 });
    expect(await signal()).toMatchObject({ dispatch_status: "SENT", google_sent_at: minutesLater(2) });
    const [metrics] = await db.sql`select * from public.provider_upload_metrics where site_id = ${team.siteId}`;
    expect(metrics).toMatchObject({ attempts_total: "1", completed_total: "1", retry_total: "0" });
  });

  // Guarantee: a thrown adapter is no refusal: the signal waits, and only its budget ends it.
  test("RETRY waits, spends an attempt, and ends as MAX_ATTEMPTS", async () => {
    for (let attempt = 1, minute = 2; attempt <= 5; attempt += 1, minute += 120) {
      const batch = attempt === 1 ? claimed : await claim(minute);
      expect(batch.rows).toHaveLength(1);
      await settle(batch, all(batch, { outcome: "RETRY", category: "TRANSIENT", words: "threw" }), minute, null);
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
    await settle(claimed, all(claimed, { outcome: "FAILED", category: "VALIDATION", code: "UNPARSEABLE_GCLID", words: "no" }), 2);
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
    team = await createQueueTeam(db.sql, `thief${number}`, founder, "api");
    expect(await settle(claimed, all(claimed, sent), 2, null)).toEqual({ completed: 0, retried: 0, failed: 0, stale: 1 });
    team = mine;
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

describe("refused credentials", () => {
  const block = { block: { code: "invalid_grant", message: "reconnect" } };

  // Guarantee: one fix brings signals back as it brings conversions back.
  test("block the site, and new credentials bring the signal back with a fresh budget", async () => {
    await lead();
    const claimed = await claim(1);
    await settle(claimed, all(claimed, refused), 2, batchOf(claimed, "definite", block));
    expect(await signal()).toMatchObject({ dispatch_status: "FAILED", provider_error_category: "AUTH" });
    expect((await claim(3)).gate).toBe("BLOCKED");
    await connectApi(db.sql, team, { at: minutesLater(4) });
    expect(await signal()).toMatchObject({ dispatch_status: "PENDING", attempt_count: 1, attempt_base: 1, next_retry_at: null });
    expect((await claim(5)).rows).toHaveLength(1);
  });

  // Mutations that break it: switch_delivery without requeue_refused; v_is_old without a look at the site's way.
  test.each([
    ["before", true],
    ["after", false],
  ])("of which we hear %s a switch to the script leave the signal to the script", async (_name, isBefore) => {
    await lead();
    const claimed = await claim(1);
    const hear = () => settle(claimed, all(claimed, refused), 2, batchOf(claimed, "definite", block));
    if (isBefore) await hear();
    await switchDelivery(db.sql, team, "script");
    if (!isBefore) await hear();
    const script = { p_site_id: team.siteId, p_limit: 10 };
    expect((await service<{ rows: object[] }>(db.sql, "claim_marketing_signals", script, minutesLater(60))).rows).toHaveLength(1);
  });

  // Guarantee: what an old token met does not end a signal that the new one can send.
  test("of credentials that were replaced meanwhile make the signal wait instead", async () => {
    await lead();
    const claimed = await claim(1);
    const answer = await forceRace(
      db.sql,
      team.owner,
      (tx) =>
        tx`select public.connect_provider(${team.publicId}, ${tx.json({ keyId: "k", sealed: "c2VhbGVkIGJ5IG5vYm9keQ==", account: {} })})`,
      () => settle(claimed, all(claimed, refused), 2, batchOf(claimed, "definite", block)),
    );
    expect(answer).toEqual({ completed: 0, retried: 1, failed: 0, stale: 0 });
    expect(await signal()).toMatchObject({
      dispatch_status: "PENDING",
      attempt_count: 1,
      attempt_base: 1,
      provider_error_category: "TRANSIENT",
      provider_error_code: "invalid_grant",
    });
    expect((await readHealth(db.sql, team)).blocked_at).toBeNull();
  });

  // Guarantee: a quota of the account that the owner left does not hold the signal in the new one.
  test("nor does their quota hold the site or the signal", async () => {
    await lead();
    const claimed = await claim(1);
    await connectApi(db.sql, team, { at: minutesLater(2) });
    const quotaUntil = minutesLater(1440);
    const wait = { outcome: "RETRY", category: "RATE_LIMIT", code: "RESOURCE_EXHAUSTED", free: true, retryAt: quotaUntil };
    await settle(claimed, all(claimed, wait), 3, batchOf(claimed, "none", { quotaUntil }));
    expect((await readHealth(db.sql, team)).quota_until).toBeNull();
    expect((await claim(10)).rows).toHaveLength(1);
  });

  // Guarantee: a fix never sends what was taken back while the site was blocked.
  test.each(["junk", "withdrawn"])("a fix does not bring back the signal of a call that is %s by then", async (why) => {
    const call = await newLead(db.sql, team, { at: sealedAt, visitor: "person" });
    const claimed = await claim(1);
    await settle(claimed, all(claimed, refused), 2, batchOf(claimed, "definite", block));
    if (why === "junk") await change(db.sql, { team }, "change_call", { id: call, to: "junk" }, { at: minutesLater(3) });
    else
      await db.sql.begin(async (tx) => {
        await tx`select set_config('opsmantik.now', ${minutesLater(3).toISOString()}, true)`;
        await tx`select public.record_consent(${team.siteId}, ${tx.json({ visitor: "person", scopes: [], ageMs: 0 })})`;
      });
    await connectApi(db.sql, team, { at: minutesLater(4) });
    expect((await signal()).dispatch_status).toBe("FAILED");
  });
});

// Guarantee: a fix at the moment of a withdrawal neither waits for it, which could be in a circle, nor undoes it.
test("a fix while the visitor withdraws leaves the signal to the withdrawal", async () => {
  await newLead(db.sql, team, { at: sealedAt, visitor: "person" });
  const claimed = await claim(1);
  await settle(claimed, all(claimed, refused), 2, batchOf(claimed, "definite"));
  await db.sql.begin(async (tx) => {
    await tx`select public.record_consent(${team.siteId}, ${tx.json({ visitor: "person", scopes: [], ageMs: 0 })})`;
    await connectApi(db.sql, team);
  });
  expect(await signal()).toMatchObject({ dispatch_status: "FAILED", last_error: "NO_CONSENT" });
});

// Guarantee: a signal in flight through a switch is sent once: the script hands it out under the same order id, with what it has left.
test("a signal goes on by script after a switch, with its name and order id", async () => {
  await lead();
  const claimed = await claim(1);
  await settle(claimed, all(claimed, later), 2);
  await callAs(db.sql, team.owner, (tx) => tx`select public.switch_delivery(${team.publicId}, 'script')`);
  const { rows } = await service<Claim>(db.sql, "claim_marketing_signals", { p_site_id: team.siteId, p_limit: 10 }, minutesLater(60));
  expect(rows).toMatchObject([
    { id: claimed.rows[0]?.id, orderId: claimed.rows[0]?.orderId, conversionName: defaultNames.INTENT_CAPTURED },
  ]);
  await service(db.sql, "ack_marketing_signals", { p_site_id: team.siteId, p_ids: rows.map(({ id }) => id) }, minutesLater(61));
  expect(await signal()).toMatchObject({ dispatch_status: "SENT", transport: "script", provider_error_code: null });
});

// Guarantee: a lead's stage counts once, whichever ways it took and whichever account the site has.
// Mutations that break it: signal_row without Google's name of the action; due_signal_jobs without the account; settle that keeps the action of
// what Google refused.
describe("an action", () => {
  const called = (conversionName: string, action: string, googleName: string) => [{ conversionName, action, googleName }];
  const contact = defaultNames.INTENT_CAPTURED;
  const recover = (minute: number) => service(db.sql, "recover_marketing_signals", {}, minutesLater(minute));
  const byScript = (minute: number) =>
    service<Claim>(db.sql, "claim_marketing_signals", { p_site_id: team.siteId, p_limit: 10 }, minutesLater(minute));
  const moved = [{ conversionName: contact, action: "customers/5555555555/conversionActions/4" }];

  test("that the API may have delivered to is the one the script names", async () => {
    await connectApi(db.sql, team, { actions: called(contact, actionOf(4), "Contacts by API") });
    await lead();
    expect((await claim(1)).rows).toHaveLength(1);
    await recover(20);
    await switchDelivery(db.sql, team, "script");
    expect((await byScript(21)).rows).toMatchObject([{ conversionName: "Contacts by API" }]);
  });

  test("that only refused is forgotten: the script uses the signal's own name, and then no action of another name gets it", async () => {
    await connectApi(db.sql, team, { actions: called(contact, actionOf(4), "Contacts by API") });
    await lead();
    const claimed = await claim(1);
    const p_results = [{ id: claimed.rows[0]?.id, outcome: "RETRY", category: "RATE_LIMIT", code: "RATE_LIMIT" }];
    const args = { p_site_id: team.siteId, p_token: claimed.token, p_results, p_batch: batchOf(claimed, "transient") };
    await service(db.sql, "settle_marketing_signal_jobs", args, minutesLater(2));
    await switchDelivery(db.sql, team, "script");
    expect((await byScript(60)).rows).toMatchObject([{ conversionName: contact }]);
    await recover(80);
    await switchDelivery(db.sql, team, "api");
    expect((await claim(81)).rows).toEqual([]);
  });

  test("of another account is not used with the new account's access", async () => {
    await lead();
    expect((await claim(1)).rows).toHaveLength(1);
    await recover(20);
    await connectApi(db.sql, team, { actions: moved, at: minutesLater(21) });
    expect((await claim(22)).rows).toEqual([]);
  });

  test("of an account that refused our access is replaced by the new account's", async () => {
    await lead();
    const claimed = await claim(1);
    const p_results = [{ id: claimed.rows[0]?.id, outcome: "FAILED", category: "AUTH", code: "INVALID_GRANT" }];
    const block = { code: "INVALID_GRANT", message: "revoked" };
    const args = { p_site_id: team.siteId, p_token: claimed.token, p_results, p_batch: batchOf(claimed, "definite", { block }) };
    await service(db.sql, "settle_marketing_signal_jobs", args, minutesLater(2));
    await connectApi(db.sql, team, { actions: moved, at: minutesLater(3) });
    expect((await claim(4)).rows).toMatchObject([{ conversionAction: moved[0]?.action }]);
  });

  // Mutation that breaks it: missing_actions that looks at the seal alone.
  test("that nobody chose is asked for, where signals are sent", async () => {
    await connectApi(db.sql, team, { actions: [{ conversionName: defaultNames.seal, action: actionOf(1) }] }); // as the form does
    const missing = [defaultNames.MEETING_BOOKED, defaultNames.SEAL_PENDING, contact];
    const preview = (to: string) => callAs(db.sql, team.owner, (tx) => tx`select public.preview_delivery_switch(${team.publicId}, ${to})`);
    expect(await readStats(db.sql, team, minutesLater(1))).toMatchObject({ missingActions: missing });
    expect(await preview("api")).toMatchObject({ missingActions: missing });
    expect(await preview("script")).toMatchObject({ missingActions: [] });
    await deliverySettings(db.sql, team, { signalsEnabled: false });
    expect(await readStats(db.sql, team, minutesLater(1))).toMatchObject({ missingActions: [] });
  });
});
