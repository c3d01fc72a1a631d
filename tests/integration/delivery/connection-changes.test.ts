import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { SiteUuid } from "#lib/site.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { connectApi, defaultNames } from "#tests/fixtures/connections.ts";
import { minutesLater, readRow, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { finishBatch, openCircuit, passGate, readHealth, startBatch } from "#tests/support/circuit.ts";
import { failAuth, readConnection } from "#tests/support/connections.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let founder: Person;
let team: Team;
let number = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  founder = await createPerson(db.sql, "founder@connections.test");
});
afterAll(() => db.drop());
beforeEach(async () => {
  number += 1;
  team = await createQueueTeam(db.sql, `connection${number}`, founder, "api");
});

const secret = "dmVyeSBzZWNyZXQgdGhpbmc=";
const key = { p_provider_key: "google_ads" };
const credentialsOf = ({ siteUuid }: Team) =>
  service<{ version: number; sealed: string; keyId: string; actions: unknown[] } | null>(db.sql, "provider_credentials_for", {
    p_site_id: siteUuid,
    ...key,
  });
const disconnect = (person: Person = team.owner) => callAs(db.sql, person, (tx) => tx`select public.disconnect_provider(${team.siteId})`);
const recordTest = (version: number, isOk: boolean, more: Record<string, unknown> = {}) =>
  service<{ recorded: boolean; released: number; version: number | null }>(
    db.sql,
    "record_provider_test",
    { p_site_id: team.siteUuid, ...key, p_version: version, p_ok: isOk, ...more },
    minutesLater(30),
  );
const activity = async () => {
  const { entries } = await callAs<{ entries: { kind: string; from: string; to: string; actorName: string; entityId: string }[] }>(
    db.sql,
    team.viewer,
    (tx) => tx`select public.list_activity(${team.siteId})`,
  );
  return entries;
};

describe("disconnecting", () => {
  // Guarantee: who disconnects can be sure that nothing is left that opens the account.
  test("the ciphertext is gone from the database, and the actions with it", async () => {
    await connectApi(db.sql, team, { sealed: secret });
    await disconnect();
    expect(await db.sql`select from public.provider_credentials where site_id = ${team.siteUuid}`).toHaveLength(0);
    expect(await readConnection(db.sql, team)).toMatchObject({ connected: false, account: null, actions: [] });
    expect((await passGate(db.sql, team, minutesLater(0))).gate).toBe("NOT_CONNECTED");
    await disconnect(); // again
    expect(await activity()).toHaveLength(2);
  });

  // Guarantee: a worker that still has the credentials of before cannot block the ones after.
  test("the version goes on where it was", async () => {
    await connectApi(db.sql, team);
    const batch = await startBatch(db.sql, team, minutesLater(0));
    await disconnect();
    expect(await connectApi(db.sql, team)).toMatchObject({ version: 2 });
    await finishBatch(db.sql, team, batch, { outcome: "definite", block: { code: "invalid_grant", message: "x" } }, minutesLater(1));
    expect((await readConnection(db.sql, team)).health?.blocked).toBeNull();
  });
});

describe("tests of a connection", () => {
  beforeEach(() => connectApi(db.sql, team));

  // Guarantee: a passed test ends the block and brings its rows back, in one step.
  test("a passed one releases, a failed one is kept beside the last that passed", async () => {
    const row = await failAuth(db.sql, team);
    await service(db.sql, "block_provider", { p_site_id: team.siteUuid, ...key, p_code: "A", p_message: "a", p_credentials_version: 1 });
    expect(await recordTest(1, false, { p_error: { code: "invalid_grant", message: "revoked" } })).toMatchObject({
      recorded: true,
      released: 0,
    });
    expect(await readConnection(db.sql, team)).toMatchObject({
      testedAt: null,
      testError: { code: "invalid_grant", message: "revoked" },
      health: { blocked: { code: "A" } },
    });
    expect(await recordTest(1, true)).toEqual({ recorded: true, released: 1, version: 2 });
    expect(await readConnection(db.sql, team)).toMatchObject({ testError: null, health: { blocked: null } });
    expect((await readConnection(db.sql, team)).testedAt).not.toBeNull();
    expect((await readRow(db.sql, row)).status).toBe("QUEUED");
  });

  // Guarantee: the test of old credentials says nothing about the new ones.
  test("one of an older version is not recorded", async () => {
    await connectApi(db.sql, team);
    await service(db.sql, "block_provider", { p_site_id: team.siteUuid, ...key, p_code: "A", p_message: "a", p_credentials_version: 2 });
    expect(await recordTest(1, true)).toEqual({ recorded: false, released: 0, version: 2 });
    expect((await readConnection(db.sql, team)).health?.blocked).toMatchObject({ code: "A" });
  });

  // Guarantee: an action that nobody tested, or that failed its test, does not get sales that Google refuses.
  // Mutation that breaks it: release_connection ends the blocks of all actions.
  test.each([
    ["with a connection that passed", true, { p_passed: [defaultNames.seal] }, null],
    ["with a connection that failed", false, { p_passed: [defaultNames.seal] }, "A"],
    ["alone", true, { p_conversion_name: defaultNames.seal }, "A"],
  ])("one of an action, %s, ends the block of that action only", async (_name, isOk, tested, blockedFor) => {
    const batch = await startBatch(db.sql, team, minutesLater(0));
    const names = [defaultNames.seal, defaultNames.SEAL_PENDING];
    const blockActions = names.map((conversionName) => ({ conversionName, code: "TERMS", message: "sign" }));
    const block = { code: "A", message: "a" };
    await finishBatch(db.sql, team, batch, { outcome: "definite", blockActions, block }, minutesLater(1));
    await recordTest(1, isOk, tested);
    const { actions, health } = await readConnection(db.sql, team);
    expect(actions.filter(({ blocked }) => blocked).map(({ conversionName }) => conversionName)).toEqual([defaultNames.SEAL_PENDING]);
    expect(health?.blocked?.code ?? null).toBe(blockedFor);
  });
});

describe("rotation of the vault's key", () => {
  const list = (keyId: string) =>
    service<{ siteUuid: SiteUuid; version: number; sealed: string }[]>(db.sql, "list_sealed_credentials", { p_key_id: keyId, p_limit: 10 });
  const reseal = (version: number) =>
    service(db.sql, "reseal_credentials", {
      p_site_id: team.siteUuid,
      ...key,
      p_version: version,
      p_key_id: "new-key",
      p_sealed: "cmVzZWFsZWQgd2l0aCBhbm90aGVy",
    });

  // Guarantee: a rotation changes the lock and not the credentials; nothing has to be tested or released after it.
  test("what the old key sealed is listed, replaced once, and keeps its version", async () => {
    await connectApi(db.sql, team, { keyId: "old-key", sealed: secret });
    expect(await list("old-key")).toEqual([expect.objectContaining({ siteUuid: team.siteUuid, version: 1, sealed: secret })]);
    expect(await reseal(1)).toEqual({ resealed: true });
    expect(await reseal(1)).toEqual({ resealed: false });
    expect(await list("old-key")).toEqual([]);
    expect(await credentialsOf(team)).toMatchObject({ version: 1, keyId: "new-key" });
  });

  // Guarantee: an owner who connects while the rotation runs does not get the old credentials back.
  test("credentials that are newer than what was opened stay", async () => {
    await connectApi(db.sql, team, { keyId: "old-key" });
    await connectApi(db.sql, team, { keyId: "old-key", sealed: secret });
    expect(await reseal(1)).toEqual({ resealed: false });
    expect(await credentialsOf(team)).toMatchObject({ version: 2, sealed: secret });
  });
});

describe("switching", () => {
  const preview = (to: string) => callAs(db.sql, team.owner, (tx) => tx`select public.preview_delivery_switch(${team.siteId}, ${to})`);
  const switchTo = (to: string) => callAs(db.sql, team.owner, (tx) => tx`select public.switch_delivery(${team.siteId}, ${to})`);

  // Guarantee: a site is never on a way that has nothing to send with.
  test("the API needs credentials", async () => {
    await switchTo("script");
    await expect(switchTo("api")).rejects.toMatchObject({ message: "NOT_CONNECTED", code: "PT409" });
    await connectApi(db.sql, team);
    expect(await switchTo("api")).toEqual({ ok: true, from: "script", to: "api" });
    expect((await passGate(db.sql, team, minutesLater(0))).gate).toBe("CLOSED");
  });

  test("from then on workers get nothing, and the log says who switched; again changes nothing", async () => {
    await connectApi(db.sql, team);
    expect(await switchTo("script")).toEqual({ ok: true, from: "api", to: "script" });
    expect(await switchTo("script")).toEqual({ ok: true, from: "script", to: "script" });
    expect((await passGate(db.sql, team, minutesLater(0))).gate).toBe("SCRIPT");
    expect((await activity()).map(({ kind, from, to }) => [kind, from, to])).toEqual([
      ["switched", "api", "script"],
      ["connected", "disconnected", "connected"],
    ]);
  });

  // Guarantee: an owner knows before the switch what happens to what waits.
  test("the preview counts what waits and what is in flight", async () => {
    await connectApi(db.sql, team);
    await deliverySettings(db.sql, team, { pageViewsEnabled: true });
    await sealLead(db.sql, team);
    expect(await preview("script")).toEqual({
      waiting: 1,
      inFlight: 0,
      released: 0,
      adjustmentsByHand: 0,
      pageViewsStop: false,
      missingActions: [],
      correctionsOfScript: 0,
      connected: true,
    });
    expect(await preview("api")).toMatchObject({ pageViewsStop: true });
    await expect(preview("mail")).rejects.toMatchObject({ message: "VALIDATION_FAILED" });
    await expect(switchTo("mail")).rejects.toMatchObject({ message: "VALIDATION_FAILED" });
  });

  test("an archived site is not switched", async () => {
    await callAs(db.sql, team.owner, (tx) => tx`select public.set_site_archived(${team.siteId}, true)`);
    await expect(switchTo("script")).rejects.toMatchObject({ message: "SITE_ARCHIVED" });
    expect((await passGate(db.sql, team, minutesLater(0))).gate).toBe("NOT_CONNECTED");
  });
});

// Guarantee: the circuit says that the provider is ill, the block that we are not let in; one never hides the other.
test("block and circuit are separate", async () => {
  await connectApi(db.sql, team);
  await openCircuit(db.sql, team, minutesLater(0));
  await service(db.sql, "block_provider", { p_site_id: team.siteUuid, ...key, p_code: "A", p_message: "a", p_credentials_version: 1 });
  expect((await passGate(db.sql, team, minutesLater(10))).gate).toBe("BLOCKED");
  await connectApi(db.sql, team);
  expect(await readHealth(db.sql, team)).toMatchObject({ state: "OPEN", blocked_at: null });
  expect((await passGate(db.sql, team, minutesLater(10))).gate).toBe("HALF_OPEN");
});
