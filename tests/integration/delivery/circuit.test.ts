import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { connectApi } from "#tests/fixtures/connections.ts";
import { minutesLater } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import {
  finishBatch,
  finishBatchIn,
  openCircuit,
  passGate,
  passGateIn,
  readHealth,
  recordOutcome,
  startBatch,
} from "#tests/support/circuit.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let db: TestDatabase;
let founder: Person;
let team: Team;
let number = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  founder = await createPerson(db.sql, "founder@delivery.test");
});
afterAll(() => db.drop());
beforeEach(async () => {
  number += 1;
  team = await createQueueTeam(db.sql, `circuit${number}`, founder, "api");
  await connectApi(db.sql, team);
});

const seconds = (from: Date, to: Date) => (to.getTime() - from.getTime()) / 1000;
const start = minutesLater(0);
const afterProbe = minutesLater(10); // a probe is due after 5 to 6 minutes

describe("closed", () => {
  // Guarantee: a provider that fails now and then is still used; one that fails five times in a row is left alone.
  test("four transient failures leave it closed, the fifth opens it for five to six minutes", async () => {
    for (let failure = 1; failure <= 4; failure += 1)
      expect(await recordOutcome(db.sql, team, "transient", start)).toEqual({ state: "CLOSED", failureCount: failure, nextProbeAt: null });
    expect((await passGate(db.sql, team, start)).gate).toBe("CLOSED");
    expect(await recordOutcome(db.sql, team, "transient", start)).toMatchObject({ state: "OPEN", failureCount: 5 });
    const { next_probe_at } = await readHealth(db.sql, team);
    expect(seconds(start, next_probe_at)).toBeGreaterThanOrEqual(300);
    expect(seconds(start, next_probe_at)).toBeLessThanOrEqual(360);
  });

  // Guarantee: only failures in a row count, so one bad minute a day never opens it.
  test("a success forgets the failures before it", async () => {
    for (let failure = 1; failure <= 4; failure += 1) await recordOutcome(db.sql, team, "transient", start);
    expect(await recordOutcome(db.sql, team, "success", start)).toMatchObject({ state: "CLOSED", failureCount: 0 });
  });

  // Guarantee: bad rows of one customer never stop the good ones.
  test("refused rows count neither for nor against it", async () => {
    for (let failure = 1; failure <= 4; failure += 1) await recordOutcome(db.sql, team, "transient", start);
    for (let refusal = 1; refusal <= 9; refusal += 1)
      expect(await recordOutcome(db.sql, team, "definite", start)).toMatchObject({ state: "CLOSED", failureCount: 4 });
  });

  // Guarantee: probes of many sites do not come at the same second.
  test("probe times differ", async () => {
    const other = await createQueueTeam(db.sql, `other${number}`, founder, "api");
    await connectApi(db.sql, other);
    expect((await openCircuit(db.sql, team, start)).getTime()).not.toBe((await openCircuit(db.sql, other, start)).getTime());
  });

  // Guarantee: two workers that fail together open it once. Opening twice would push the probe away each time.
  // Mutation: note_outcome without `for update`.
  test("two workers at the fifth failure open it once", async () => {
    for (let failure = 1; failure <= 4; failure += 1) await recordOutcome(db.sql, team, "transient", start);
    const batch = await startBatch(db.sql, team, start);
    await whileOpen(
      db.sql,
      (tx) => finishBatchIn(tx, team, batch, { outcome: "transient" }, start),
      () => recordOutcome(db.sql, team, "transient", minutesLater(3)),
    );
    const health = await readHealth(db.sql, team);
    expect(health).toMatchObject({ state: "OPEN", failure_count: 5 });
    expect(seconds(start, health.next_probe_at)).toBeLessThanOrEqual(360);
  });
});

describe("open", () => {
  beforeEach(async () => {
    await openCircuit(db.sql, team, start);
  });

  // Guarantee: nothing is sent to a provider that is down.
  test("no claim passes before the probe time", async () => {
    expect((await passGate(db.sql, team, minutesLater(4.9))).gate).toBe("OPEN");
    expect((await readHealth(db.sql, team)).state).toBe("OPEN");
  });

  // Guarantee: a batch from before the outage says nothing about the provider after it.
  test("batches from before it opened neither close it nor push the probe away", async () => {
    const other = await createQueueTeam(db.sql, `early${number}`, founder, "api");
    await connectApi(db.sql, other);
    const [won, lost] = [await startBatch(db.sql, other, start), await startBatch(db.sql, other, start)];
    const probeAt = await openCircuit(db.sql, other, start);
    await finishBatch(db.sql, other, won, { outcome: "success" }, minutesLater(2));
    await finishBatch(db.sql, other, lost, { outcome: "transient" }, minutesLater(2));
    expect(await readHealth(db.sql, other)).toMatchObject({ state: "OPEN", failure_count: 5, next_probe_at: probeAt });
    expect((await readHealth(db.sql, other)).last_success_at).toEqual(minutesLater(2));
  });

  // Guarantee: one batch finds out whether the provider is back; a thousand rows do not.
  // Mutation: pass_gate without `for update`.
  test("two workers at the probe time: one probes, the other waits", async () => {
    const second = await whileOpen(
      db.sql,
      async (tx) => expect(await passGateIn(tx, team, afterProbe)).toMatchObject({ gate: "HALF_OPEN", probe_limit: 5 }),
      () => passGate(db.sql, team, afterProbe),
    );
    expect(second.gate).toBe("OPEN");
  });

  // Guarantee: the runbook's success closes it by hand.
  test("a success that belongs to no batch closes it", async () => {
    expect(await recordOutcome(db.sql, team, "success", minutesLater(1))).toEqual({ state: "CLOSED", failureCount: 0, nextProbeAt: null });
  });
});

describe("half open", () => {
  beforeEach(async () => {
    await openCircuit(db.sql, team, start);
  });

  // Guarantee: any answer proves that the provider is back, also a refusal.
  test.each(["success", "definite"] as const)("the probe's %s closes it", async (outcome) => {
    const probe = await startBatch(db.sql, team, afterProbe);
    expect(probe).toMatchObject({ gate: "HALF_OPEN", credentials_version: 1, transport: "data_manager" });
    await finishBatch(db.sql, team, probe, { outcome }, afterProbe);
    expect(await readHealth(db.sql, team)).toMatchObject({ state: "CLOSED", failure_count: 0, next_probe_at: null, probe_token: null });
  });

  // Guarantee: HALF_OPEN always ends, whatever the probe came to.
  test.each([
    ["transient", 6],
    ["none", 5],
  ] as const)("the probe's %s opens it again for five to six minutes", async (outcome, failures) => {
    const probe = await startBatch(db.sql, team, afterProbe);
    await finishBatch(db.sql, team, probe, { outcome, errorCode: "UNAVAILABLE" }, afterProbe);
    const health = await readHealth(db.sql, team);
    expect(health).toMatchObject({ state: "OPEN", failure_count: failures, probe_token: null, probe_until: null });
    expect(seconds(afterProbe, health.next_probe_at)).toBeGreaterThanOrEqual(300);
    expect(seconds(afterProbe, health.next_probe_at)).toBeLessThanOrEqual(360);
  });

  // Guarantee: a probe that found nothing to send does not cost the site another five minutes.
  test("a probe without rows gives its lease back, and the next claim probes", async () => {
    const { token } = await passGate(db.sql, team, afterProbe);
    await db.sql`select private.return_probe(${team.siteUuid}, 'google_ads', ${token})`;
    expect((await passGate(db.sql, team, afterProbe)).gate).toBe("HALF_OPEN");
  });

  // Guarantee: a worker that died while it probed does not keep the circuit half open for ever.
  test.each(["the next claim", "the sweep"])("an abandoned probe ends in OPEN with a new probe time, by %s", async (by) => {
    await startBatch(db.sql, team, afterProbe);
    expect((await passGate(db.sql, team, minutesLater(14, afterProbe))).gate).toBe("OPEN");
    expect((await readHealth(db.sql, team)).state).toBe("HALF_OPEN");
    const later = minutesLater(16, afterProbe);
    if (by === "the next claim") expect((await passGate(db.sql, team, later)).gate).toBe("OPEN");
    else
      await db.sql.begin(async (tx) => {
        await tx`select set_config('opsmantik.now', ${later.toISOString()}, true)`;
        await tx`select private.end_dead_batches('15 minutes')`;
      });
    const health = await readHealth(db.sql, team);
    expect(health).toMatchObject({ state: "OPEN", probe_token: null });
    expect(seconds(later, health.next_probe_at)).toBeGreaterThanOrEqual(300);
    expect(seconds(later, health.next_probe_at)).toBeLessThanOrEqual(360);
  });

  // Guarantee: a probe that answers after its lease decides nothing: another one is under way, and knows better.
  test.each(["success", "transient"] as const)("a late %s of an old probe leaves the present probe alone", async (outcome) => {
    const old = await startBatch(db.sql, team, afterProbe);
    expect((await passGate(db.sql, team, minutesLater(16, afterProbe))).gate).toBe("OPEN");
    const later = minutesLater(30, afterProbe);
    const present = await startBatch(db.sql, team, later);
    expect(present.gate).toBe("HALF_OPEN");
    await finishBatch(db.sql, team, old, { outcome }, later);
    expect(await readHealth(db.sql, team)).toMatchObject({ state: "HALF_OPEN", probe_token: present.token, failure_count: 5 });
    await finishBatch(db.sql, team, present, { outcome: "success" }, later);
    expect((await readHealth(db.sql, team)).state).toBe("CLOSED");
  });

  // Guarantee: the probe's answer and the sweep that ends its lease never leave half a state behind.
  test("an answer that waits for the sweep decides nothing any more", async () => {
    const probe = await startBatch(db.sql, team, afterProbe);
    const later = minutesLater(16, afterProbe);
    const finished = await whileOpen(
      db.sql,
      async (tx) => {
        await tx`select set_config('opsmantik.now', ${later.toISOString()}, true)`;
        await tx`select private.end_dead_batches('15 minutes')`;
      },
      () => finishBatch(db.sql, team, probe, { outcome: "success" }, later),
    );
    expect(finished).toBe(false);
    expect((await readHealth(db.sql, team)).state).toBe("OPEN");
  });
});
