import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { connectApi } from "#tests/fixtures/connections.ts";
import { claimForWorker, minutesLater, readRow, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { callIn, service } from "#tests/fixtures/service.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { finishBatch, finishBatchIn, type Gate, passGate, passGateIn, startBatch } from "#tests/support/circuit.ts";
import { readConnection } from "#tests/support/connections.ts";
import { forceRace } from "#tests/support/force-race.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { whileOpen } from "#tests/support/while-open.ts";

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
const blockedNow = async () => (await readConnection(db.sql, team)).health?.blocked ?? null;
const release = (at = minutesLater(20)) =>
  service<{ released: number }>(db.sql, "release_provider", { p_site_id: team.siteUuid, p_provider_key: "google_ads" }, at);
const connecting = { keyId: "00000000", sealed: "c2VhbGVkIGJ5IG5vYm9keQ==", account: { customerId: "1" } };

// Guarantee: refused credentials stop the site at once; the backlog is not burnt one batch after the other.
test("a refusal of the present credentials blocks, with its cause, until somebody fixes it", async () => {
  const batch = await startBatch(db.sql, team, start);
  await finishBatch(db.sql, team, batch, refused, start);
  expect(await blockedNow()).toMatchObject({ code: "invalid_grant", message: "Reconnect Google Ads." });
  expect((await passGate(db.sql, team, minutesLater(600))).gate).toBe("BLOCKED");
});

// Guarantee: the first cause is what the owner reads; a second batch that fails for another reason does not hide it.
test("a block keeps its first cause", async () => {
  const [first, second] = [await startBatch(db.sql, team, start), await startBatch(db.sql, team, start)];
  await finishBatch(db.sql, team, first, refused, start);
  await finishBatch(db.sql, team, second, { outcome: "definite", block: { code: "USER_PERMISSION_DENIED", message: "x" } }, start);
  expect(await blockedNow()).toMatchObject({ code: "invalid_grant" });
});

// Guarantee: what a worker met with the old credentials does not shut out the new ones.
test("a refusal of credentials that were replaced meanwhile blocks nothing", async () => {
  const batch = await startBatch(db.sql, team, start);
  await connectApi(db.sql, team);
  await finishBatch(db.sql, team, batch, refused, start);
  expect(await blockedNow()).toBeNull();
  const old = { p_site_id: team.siteUuid, p_provider_key: "google_ads", p_code: "A", p_message: "a", p_credentials_version: 1 };
  expect(await service(db.sql, "block_provider", old)).toEqual({ blocked: false });
  expect(await service(db.sql, "block_provider", { ...old, p_credentials_version: 2 })).toEqual({ blocked: true });
});

// Guarantee: the same when both happen at once: the refusal waits for the connection and then sees that it is old.
// Mutation: finish_batch that reads the version without hold_provider.
test("a refusal that arrives while the owner connects blocks nothing", async () => {
  const batch = await startBatch(db.sql, team, start);
  await forceRace(
    db.sql,
    team.owner,
    (tx) => tx`select public.connect_provider(${team.siteId}, ${tx.json(connecting)})`,
    () => finishBatch(db.sql, team, batch, refused, start),
  );
  expect(await blockedNow()).toBeNull();
});

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

// Guarantee: an owner who connects in the second in which the old credentials are refused gets all rows back.
// Mutation: keep_connection that releases before it holds the provider.
test("connecting while a refusal is written waits for it, ends the block and brings its rows back", async () => {
  const { id, settle } = await refusedClaim();
  const connected = await whileOpen(
    db.sql,
    (tx) => callIn(tx, "settle_offline_conversion_jobs", settle),
    () => connectApi(db.sql, team, { at: minutesLater(1) }),
  );
  expect(connected).toMatchObject({ version: 2, released: 1 });
  expect(await blockedNow()).toBeNull();
  expect((await readRow(db.sql, id)).status).toBe("QUEUED");
});

// Guarantee: and the other way round: what the old credentials met is no reason to give a row up.
test("a refusal that is settled while the owner connects makes its rows wait, and blocks nothing", async () => {
  const { id, settle } = await refusedClaim();
  const settled = await forceRace(
    db.sql,
    team.owner,
    (tx) => tx`select public.connect_provider(${team.siteId}, ${tx.json(connecting)})`,
    () => service(db.sql, "settle_offline_conversion_jobs", settle, minutesLater(1)),
  );
  expect(settled).toMatchObject({ retried: 1, failed: 0 });
  expect(await readRow(db.sql, id)).toMatchObject({ status: "RETRY", provider_error_category: "TRANSIENT" });
  expect(await blockedNow()).toBeNull();
});

// Guarantee: what was sent before the fix and is refused after it does not undo the fix.
test("a batch in flight during the release does not block again", async () => {
  const { id, settle } = await refusedClaim();
  const batch = await startBatch(db.sql, team, start);
  await finishBatch(db.sql, team, batch, refused, start);
  expect(await release(minutesLater(5))).toEqual({ released: 0 }); // what is in flight stays with who has it
  expect((await readRow(db.sql, id)).status).toBe("PROCESSING");
  await service(db.sql, "settle_offline_conversion_jobs", settle, minutesLater(6));
  expect(await blockedNow()).toBeNull();
  expect((await readRow(db.sql, id)).status).toBe("RETRY");
});

// Guarantee: two workers whose credentials are refused, and a claim at the same moment: the claim gets nothing.
test("a claim that waits for a block passes no gate", async () => {
  const batch = await startBatch(db.sql, team, start);
  const claim = await whileOpen(
    db.sql,
    (tx) => finishBatchIn(tx, team, batch, refused, start),
    () => passGate(db.sql, team, start),
  );
  expect(claim.gate).toBe("BLOCKED");
});

// Guarantee: no batch starts with the old credentials after the new ones are kept.
test.each([
  ["connects anew", "select public.connect_provider($1, $2)", { gate: "CLOSED", credentials_version: 2 }],
  ["disconnects", "select public.disconnect_provider($1)", { gate: "NOT_CONNECTED", credentials_version: null }],
  ["switches to the script", "select public.switch_delivery($1, 'script')", { gate: "SCRIPT" }],
])("a claim while the owner %s sees what the owner made of it", async (_, statement, seen) => {
  const claim = (await forceRace(
    db.sql,
    team.owner,
    (tx) => tx.unsafe(statement, (statement.includes("$2") ? [team.siteId, connecting] : [team.siteId]) as never[]),
    () => passGate(db.sql, team, start),
  )) as Gate;
  expect(claim).toMatchObject(seen);
});

// Guarantee: and the other way: a switch waits for a claim under way instead of overtaking it.
test("a switch waits for a claim under way", async () => {
  const switched = await whileOpen(
    db.sql,
    async (tx) => expect((await passGateIn(tx, team, start)).gate).toBe("CLOSED"),
    () => callAs(db.sql, team.owner, (tx) => tx`select public.switch_delivery(${team.siteId}, 'script')`),
  );
  expect(switched).toMatchObject({ to: "script" });
});
