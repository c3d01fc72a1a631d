import type postgres from "postgres";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { connectApi } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForScript, claimForWorker, minutesLater, moveConversion, readRow, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { switchDelivery } from "#tests/fixtures/site.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { finishBatch, passGate, readHealth, startBatch } from "#tests/support/circuit.ts";
import { failAuth } from "#tests/support/connections.ts";
import { act, undo } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let founder: Person;
let team: Team;
let number = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  founder = await createPerson(db.sql, "founder@block.test");
});
afterAll(() => db.drop());
beforeEach(async () => {
  number += 1;
  team = await createQueueTeam(db.sql, `block${number}`, founder, "api");
  await connectApi(db.sql, team);
});

const start = minutesLater(0);
const refused = { outcome: "definite", block: { code: "invalid_grant", message: "Reconnect Google Ads." } } as const;
const release = (at = minutesLater(20)) =>
  service<{ released: number }>(db.sql, "release_provider", { p_site_id: team.siteUuid, p_provider_key: "google_ads" }, at);

/** A sealed lead that a worker has claimed, and the refusal of its credentials as the worker settles it. */
async function refusedClaim() {
  const { id } = await sealLead(db.sql, team);
  const { token, batch } = await claimForWorker(db.sql, team, { at: start });
  const settle = {
    p_site_id: team.siteUuid,
    p_token: token,
    p_results: [{ id, outcome: "FAILED", code: "invalid_grant", category: "AUTH", message: "revoked" }],
    p_batch: { provider: "google_ads", ...batch, ...refused },
  };
  return { id, settle };
}

// Guarantee: one fix brings everything back that the refusal stopped, as if it had never been tried.
test("a release queues FAILED(AUTH) rows with a fresh budget and writes down who did it", async () => {
  const id = await failAuth(db.sql, team);
  await connectApi(db.sql, team, { at: minutesLater(5) });
  const row = await readRow(db.sql, id);
  expect(row).toMatchObject({ status: "QUEUED", next_retry_at: null, provider_error_category: "AUTH" });
  expect(row.attempt_base).toBe(row.attempt_count);
  const [last] = await db.sql`select * from public.queue_transitions where queue_id = ${id} order by id desc limit 1`;
  expect(last).toMatchObject({
    from_status: "FAILED",
    to_status: "QUEUED",
    reason: "RELEASED",
    actor_kind: "user",
    actor_id: team.owner.id,
  });
  expect(await release()).toEqual({ released: 0 });
});

// Guarantee: whoever tried a retry and took it back is not worse off than whoever waited.
// Mutation: release only what a worker's answer was the last to change.
test("a release queues a row whose retry was taken back", async () => {
  const id = await failAuth(db.sql, team);
  const { body } = await act(db.sql, { action: "RETRY_SELECTED", ids: [id] }, { team, at: minutesLater(2) });
  await undo(db.sql, body.actionId, { team, at: minutesLater(3) });
  expect((await readRow(db.sql, id)).status).toBe("FAILED");
  expect(await release()).toEqual({ released: 1 });
});

// Guarantee: a fix of the API does not open what a person gave up or what the script failed with.
test("a release leaves alone what no worker failed, and what failed for another reason", async () => {
  const given = await failAuth(db.sql, team);
  await moveConversion(db.sql, team, { id: given, to: "QUEUED" }, minutesLater(2));
  await moveConversion(db.sql, team, { id: given, to: "FAILED" }, minutesLater(3));
  await callAs(db.sql, team.owner, (tx) => tx`select public.switch_delivery(${team.siteId}, 'script')`);
  const { id: scripted } = await sealLead(db.sql, team);
  await claimForScript(db.sql, team, [scripted], minutesLater(1));
  await service(
    db.sql,
    "fail_offline_conversions",
    { p_site_id: team.siteUuid, p_ids: [scripted], p_code: "AUTH", p_category: "AUTH", p_message: "x" },
    minutesLater(2),
  );
  await callAs(db.sql, team.owner, (tx) => tx`select public.switch_delivery(${team.siteId}, 'api')`);
  expect(await release()).toEqual({ released: 0 });
  for (const id of [given, scripted]) expect((await readRow(db.sql, id)).status).toBe("FAILED");
});

// Guarantee: a sale that was cancelled while the site was blocked is never sent by the fix.
test("a release does not send what came to nothing meanwhile", async () => {
  const cancelled = await failAuth(db.sql, team);
  const kept = await failAuth(db.sql, team, minutesLater(2));
  const { sale_id } = await readRow(db.sql, cancelled);
  await change(db.sql, { team }, "cancel_sale", { id: sale_id }, { at: minutesLater(3) });
  expect(await release()).toEqual({ released: 1 });
  expect((await readRow(db.sql, cancelled)).status).toBe("FAILED");
  expect((await readRow(db.sql, kept)).status).toBe("QUEUED");
});

// Guarantee: an owner who gives the API up and goes back to the script loses nothing to the block, and knows before how much comes back.
// Mutations: switch_delivery without requeue_refused; settle that leaves FAILED what a script can send.
test("a switch to the script queues what was refused access, and the preview says how many", async () => {
  const id = await failAuth(db.sql, team);
  const cancelled = await failAuth(db.sql, team, minutesLater(2));
  await change(db.sql, { team }, "cancel_sale", { id: (await readRow(db.sql, cancelled)).sale_id }, { at: minutesLater(3) });
  const preview = (to: string) => callAs(db.sql, team.owner, (tx) => tx`select public.preview_delivery_switch(${team.siteId}, ${to})`);
  expect(await preview("script")).toMatchObject({ waiting: 0, released: 1, adjustmentsByHand: 0 });
  expect(await preview("api")).toMatchObject({ released: 0 });
  await switchDelivery(db.sql, team, "script");
  expect((await claimForScript(db.sql, team, [id, cancelled], minutesLater(10))).rows).toMatchObject([{ id }]);
});

test("a correction that was refused access is a person's work after a switch to the script, and counted so", async () => {
  const { saleId } = await sealLead(db.sql, team);
  const sent = await claimForWorker(db.sql, team, { at: minutesLater(1) });
  await settleClaim(db.sql, team, sent, { outcome: "COMPLETED", verdict: "CONFIRMED" }, { at: minutesLater(2) });
  await change(db.sql, { team }, "correct_sale", { id: saleId, amountCents: 90_00 }, { at: minutesLater(3) });
  const claim = await claimForWorker(db.sql, team, { at: minutesLater(4) });
  await settleClaim(db.sql, team, claim, { outcome: "FAILED", code: "invalid_grant", category: "AUTH" }, { at: minutesLater(5) });
  const ask = (tx: postgres.TransactionSql) => tx`select public.preview_delivery_switch(${team.siteId}, 'script')`;
  expect(await callAs(db.sql, team.owner, ask, minutesLater(6))).toMatchObject({ waiting: 0, released: 1, adjustmentsByHand: 1 });
  await switchDelivery(db.sql, team, "script", minutesLater(6)); // 54 days later Google would take no correction
  expect(await readRow(db.sql, String(claim.rows[0]?.id))).toMatchObject({ kind: "RESTATE", status: "QUEUED" });
});

test("what is refused access after a switch to the script waits for the script", async () => {
  const { id, settle } = await refusedClaim();
  await switchDelivery(db.sql, team, "script");
  await service(db.sql, "settle_offline_conversion_jobs", settle, minutesLater(6));
  expect((await readRow(db.sql, id)).status).toBe("RETRY");
  expect((await claimForScript(db.sql, team, [id], minutesLater(60))).rows).toMatchObject([{ id }]);
});

// Guarantee: a wait that Google named too long does not outlast the person who ends it.
test("a release ends the wait that Google asked for", async () => {
  const batch = await startBatch(db.sql, team, start);
  await finishBatch(db.sql, team, batch, { outcome: "none", quotaUntil: minutesLater(1440).toISOString() }, start);
  expect((await passGate(db.sql, team, minutesLater(19))).gate).toBe("QUOTA");
  await release();
  expect((await passGate(db.sql, team, minutesLater(21))).gate).toBe("CLOSED");
});

// Guarantee: an owner who leaves an account whose quota is used up is not made to wait for it in the new one.
// Mutations that break it: note the quota whatever the version; keep the time that the rows were given with it.
test("a quota of the account before holds neither the account that was connected since nor its rows", async () => {
  const { id } = await sealLead(db.sql, team);
  const claim = await claimForWorker(db.sql, team, { at: minutesLater(1) });
  await connectApi(db.sql, team, { at: minutesLater(2) });
  const quotaUntil = minutesLater(1440).toISOString();
  const wait = { outcome: "RETRY", category: "RATE_LIMIT", code: "RESOURCE_EXHAUSTED", free: true, retryAt: quotaUntil } as const;
  await settleClaim(db.sql, team, claim, wait, { at: minutesLater(3), batch: { outcome: "none", quotaUntil, isQuotaShared: true } });
  expect(await readHealth(db.sql, team)).toMatchObject({ quota_until: null });
  expect((await claimForWorker(db.sql, team, { at: minutesLater(10) })).rows.map((row) => row.id)).toEqual([id]);
});

// Guarantee: what a revoked token failed comes back with the connection and the seal, whichever comes first.
// Mutation that breaks it: leave FAILED(AUTH) rows of a cancelled sale as they are in close_waiting.
test.each([
  ["before", 8],
  ["after", 15],
])("a sale that was cancelled during the block and is sealed again %s the release is sent", async (_name, minute) => {
  const id = await failAuth(db.sql, team);
  const { sale_id, call_id } = await readRow(db.sql, id);
  await change(db.sql, { team }, "cancel_sale", { id: sale_id }, { at: minutesLater(5) });
  const steps: [number, () => Promise<unknown>][] = [
    [10, () => connectApi(db.sql, team, { at: minutesLater(10) })],
    [minute, () => change(db.sql, { team }, "seal_call", { id: call_id, amountCents: 425_000 }, { at: minutesLater(minute) })],
  ];
  for (const [, step] of steps.sort(([a], [b]) => a - b)) await step();
  expect(await readRow(db.sql, id)).toMatchObject({ status: "QUEUED", last_error: null });
  expect((await claimForWorker(db.sql, team, { at: minutesLater(20) })).rows.map((row) => row.id)).toEqual([id]);
});

test("without a connection there is nothing to release", async () => {
  await callAs(db.sql, team.owner, (tx) => tx`select public.disconnect_provider(${team.siteId})`);
  await expect(release()).rejects.toMatchObject({ message: "NOT_CONNECTED", code: "PT409" });
});
