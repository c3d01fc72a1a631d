import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { actionOf, connectApi, defaultActions, defaultNames } from "#tests/fixtures/connections.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { minutesLater, sealedAt } from "#tests/fixtures/queue.ts";
import { callIn } from "#tests/fixtures/service.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import { openCircuit, readHealth } from "#tests/support/circuit.ts";
import {
  all,
  batchOf,
  type Claim,
  claim,
  claimArgs,
  db,
  groups,
  later,
  lead,
  nextSite,
  openSignals,
  sent,
  settle,
  signal,
  team,
} from "#tests/support/signal-scene.ts";
import { whileOpen } from "#tests/support/while-open.ts";

beforeAll(openSignals);
afterAll(() => db.drop());
beforeEach(nextSite);

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
    const turns = await db.sql`select pipeline, served_at from private.delivery_turns where site_id = ${team.siteUuid}`;
    expect([...turns]).toEqual([{ pipeline: "signals", served_at: minutesLater(1) }]);
    expect(await groups(1)).toEqual([]);
  });

  // Guarantee: Google is told of consent only where the visitor gave it in so many words.
  test("a visitor who agreed is sent as one who agreed", async () => {
    await newLead(db.sql, team, { at: sealedAt, visitor: "agreed", reporter: "system" });
    await db.sql.begin(async (tx) => {
      await tx`select set_config('opsmantik.now', ${minutesLater(1).toISOString()}, true)`;
      await tx`select public.record_consent(${team.siteUuid}, ${tx.json({ visitor: "agreed", scopes: ["analytics", "marketing"], ageMs: 0 })})`;
    });
    expect((await claim(2)).rows).toMatchObject([{ consent: "GRANTED" }]);
  });

  // Guarantee: whatever a group counts can be claimed, and what it does not count cannot.
  test.each([
    ["switched off", () => deliverySettings(db.sql, team, { signalsEnabled: false })],
    ["on a site whose script sends", () => callAs(db.sql, team.owner, (tx) => tx`select public.switch_delivery(${team.siteId}, 'script')`)],
    ["without a connection", () => callAs(db.sql, team.owner, (tx) => tx`select public.disconnect_provider(${team.siteId})`)],
    ["without an action for its name", () => connectApi(db.sql, team, { actions: defaultActions.slice(0, 3) })],
    ["on a blocked site", () => db.sql`select private.block_connection(${team.siteUuid}, 'google_ads', 'A', 'a')`],
    [
      "with a blocked action",
      () => db.sql`update public.provider_conversion_actions set blocked_at = now(), blocked_code = 'A' where site_id = ${team.siteUuid}`,
    ],
    ["with a click that is too young", () => deliverySettings(db.sql, team, { clickMinAgeHours: 6 })],
    ["of an archived site", () => callAs(db.sql, team.owner, (tx) => tx`select public.set_site_archived(${team.siteId}, true)`)],
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
      await tx`select public.record_consent(${team.siteUuid}, ${tx.json(choice)})`;
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
