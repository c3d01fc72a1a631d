import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { actionOf, connectApi, defaultNames } from "#tests/fixtures/connections.ts";
import { change, newLead } from "#tests/fixtures/leads.ts";
import { minutesLater, sealedAt } from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";
import { deliverySettings, switchDelivery } from "#tests/fixtures/site.ts";
import { readHealth } from "#tests/support/circuit.ts";
import { readStats } from "#tests/support/control.ts";
import { forceRace } from "#tests/support/force-race.ts";

import {
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
  refused,
  settle,
  signal,
  team,
} from "#tests/support/signal-scene.ts";

beforeAll(openSignals);
afterAll(() => db.drop());
beforeEach(nextSite);

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
    const script = { p_site_id: team.siteUuid, p_limit: 10 };
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
        tx`select public.connect_provider(${team.siteId}, ${tx.json({ keyId: "k", sealed: "c2VhbGVkIGJ5IG5vYm9keQ==", account: {} })})`,
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
        await tx`select public.record_consent(${team.siteUuid}, ${tx.json({ visitor: "person", scopes: [], ageMs: 0 })})`;
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
    await tx`select public.record_consent(${team.siteUuid}, ${tx.json({ visitor: "person", scopes: [], ageMs: 0 })})`;
    await connectApi(db.sql, team);
  });
  expect(await signal()).toMatchObject({ dispatch_status: "FAILED", last_error: "NO_CONSENT" });
});

// Guarantee: a signal in flight through a switch is sent once: the script hands it out under the same order id, with what it has left.
test("a signal goes on by script after a switch, with its name and order id", async () => {
  await lead();
  const claimed = await claim(1);
  await settle(claimed, all(claimed, later), 2);
  await callAs(db.sql, team.owner, (tx) => tx`select public.switch_delivery(${team.siteId}, 'script')`);
  const { rows } = await service<Claim>(db.sql, "claim_marketing_signals", { p_site_id: team.siteUuid, p_limit: 10 }, minutesLater(60));
  expect(rows).toMatchObject([
    { id: claimed.rows[0]?.id, orderId: claimed.rows[0]?.orderId, conversionName: defaultNames.INTENT_CAPTURED },
  ]);
  await service(db.sql, "ack_marketing_signals", { p_site_id: team.siteUuid, p_ids: rows.map(({ id }) => id) }, minutesLater(61));
  expect(await signal()).toMatchObject({ dispatch_status: "SENT", transport: "script", provider_error_code: null });
});

// Guarantee: a lead's stage counts once, whichever ways it took and whichever account the site has.
// Mutations that break it: signal_row without Google's name of the action; due_signal_jobs without the account; settle that keeps the action of
// what Google refused.
describe("an action", () => {
  const called = (conversionName: string, action: string, googleName: string) => [{ conversionName, action, googleName }];
  const contact = defaultNames.INTENT_CAPTURED;
  const byScript = (minute: number) =>
    service<Claim>(db.sql, "claim_marketing_signals", { p_site_id: team.siteUuid, p_limit: 10 }, minutesLater(minute));
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
    const args = { p_site_id: team.siteUuid, p_token: claimed.token, p_results, p_batch: batchOf(claimed, "transient") };
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
    const args = { p_site_id: team.siteUuid, p_token: claimed.token, p_results, p_batch: batchOf(claimed, "definite", { block }) };
    await service(db.sql, "settle_marketing_signal_jobs", args, minutesLater(2));
    await connectApi(db.sql, team, { actions: moved, at: minutesLater(3) });
    expect((await claim(4)).rows).toMatchObject([{ conversionAction: moved[0]?.action }]);
  });

  // Mutation that breaks it: missing_actions that looks at the seal alone.
  test("that nobody chose is asked for, where signals are sent", async () => {
    await connectApi(db.sql, team, { actions: [{ conversionName: defaultNames.seal, action: actionOf(1) }] }); // as the form does
    const missing = [defaultNames.MEETING_BOOKED, defaultNames.SEAL_PENDING, contact];
    const preview = (to: string) => callAs(db.sql, team.owner, (tx) => tx`select public.preview_delivery_switch(${team.siteId}, ${to})`);
    expect(await readStats(db.sql, team, minutesLater(1))).toMatchObject({ missingActions: missing });
    expect(await preview("api")).toMatchObject({ missingActions: missing });
    expect(await preview("script")).toMatchObject({ missingActions: [] });
    await deliverySettings(db.sql, team, { signalsEnabled: false });
    expect(await readStats(db.sql, team, minutesLater(1))).toMatchObject({ missingActions: [] });
  });
});
