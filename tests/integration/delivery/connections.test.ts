import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { actionOf, connectApi, defaultActions, defaultNames } from "#tests/fixtures/connections.ts";
import { claimForWorker, minutesLater, readRow, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import { createPerson, createTeam, handOver, type Person, type Team } from "#tests/fixtures/team.ts";
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
const credentialsOf = ({ siteId }: Team) =>
  service<{ version: number; sealed: string; keyId: string; actions: unknown[] } | null>(db.sql, "provider_credentials_for", {
    p_site_id: siteId,
    ...key,
  });
const disconnect = (person: Person = team.owner) => callAs(db.sql, person, (tx) => tx`select public.disconnect_provider(${team.publicId})`);
const setActions = (actions: unknown[]) =>
  callAs<{ version: number; released: number }>(
    db.sql,
    team.owner,
    (tx) => tx`select public.set_conversion_actions(${team.publicId}, ${tx.json(actions as never)})`,
  );
const recordTest = (version: number, isOk: boolean, more: Record<string, unknown> = {}) =>
  service<{ recorded: boolean; released: number; version: number | null }>(
    db.sql,
    "record_provider_test",
    { p_site_id: team.siteId, ...key, p_version: version, p_ok: isOk, ...more },
    minutesLater(30),
  );
const activity = async () => {
  const { entries } = await callAs<{ entries: { kind: string; from: string; to: string; actorName: string; entityId: string }[] }>(
    db.sql,
    team.viewer,
    (tx) => tx`select public.list_activity(${team.publicId})`,
  );
  return entries;
};

describe("connecting", () => {
  // Guarantee: what was sealed reaches workers and nobody else; a member sees the account and no secret.
  test("a worker gets the credentials, a member only what may be shown", async () => {
    await connectApi(db.sql, team, { sealed: secret, keyId: "key1", transport: "ads_api" });
    expect(await credentialsOf(team)).toMatchObject({ version: 1, sealed: secret, keyId: "key1", transport: "ads_api" });
    for (const person of [team.owner, team.operator, team.viewer]) {
      const seen = await readConnection(db.sql, team, person);
      expect(seen).toMatchObject({
        syncMethod: "api",
        connected: true,
        transport: "ads_api",
        account: { customerId: "1234567890", clientIdTail: "nobody", hasDeveloperToken: false },
        health: { state: "CLOSED", blocked: null },
      });
      expect(JSON.stringify(seen)).not.toContain(secret);
      expect(JSON.stringify(seen)).not.toContain("key1");
    }
  });

  // Guarantee: a caller that puts a secret beside the account does not have it shown to viewers.
  test("of the account only what may be shown is kept", async () => {
    const connection = {
      keyId: "key1",
      sealed: secret,
      account: { customerId: "1", refresh_token: "1//secret", clientSecret: "s" },
    };
    await callAs(db.sql, team.owner, (tx) => tx`select public.connect_provider(${team.publicId}, ${tx.json(connection)})`);
    expect((await readConnection(db.sql, team)).account).toEqual({ customerId: "1" });
  });

  test("before the first connection there is nothing, and no health", async () => {
    expect(await readConnection(db.sql, team)).toMatchObject({ connected: false, account: null, actions: [], health: null });
    expect(await credentialsOf(team)).toBeNull();
  });

  // Guarantee: the activity log says who let Google in, and when.
  test("connecting, new credentials and disconnecting are in the activity log", async () => {
    await connectApi(db.sql, team);
    await connectApi(db.sql, team);
    await disconnect();
    const log = await activity();
    expect(log.map(({ kind, from, to }) => [kind, from, to])).toEqual([
      ["disconnected", "connected", "disconnected"],
      ["connected", "connected", "connected"],
      ["connected", "disconnected", "connected"],
    ]);
    expect(new Set(log.map((entry) => entry.entityId)).size).toBe(1);
    expect(log[0]?.entityId).not.toBe(team.siteId);
    expect(log[0]?.actorName).toBe("founder");
    expect(JSON.stringify(log)).not.toContain("c2VhbGVk");
  });

  // Guarantee: what cannot be used is refused by name instead of being kept and failing in the night.
  test.each([
    ["provider", { provider: "bing" }],
    ["transport", { transport: "script" }],
    ["keyId", { keyId: "" }],
    ["sealed", { sealed: "not base64!" }],
    ["sealed", { sealed: undefined }],
    ["account", { account: { customerId: "12-34" } }],
    ["account", { account: { clientIdTail: "a whole client id.apps" } }],
    ["actions", { actions: [{ conversionName: "x", action: "customers/1/conversions/2" }] }],
    ["actions", { actions: [defaultActions[0], defaultActions[0]] }],
    ["actions", { actions: defaultActions.map((action) => ({ ...action, action: actionOf(1) })) }],
    ["actions", { actions: ["x"] }],
    ["actions", { actions: "x" }],
    ["actions", { account: { customerId: "1" }, actions: defaultActions }],
    ["actions", { account: { customerId: "1", conversionCustomerId: "1234567890" }, actions: defaultActions }],
    ["actions", { transport: "ads_api", account: { customerId: "1" }, actions: defaultActions }],
    ["actions", { account: { customerId: "1" }, sealAction: actionOf(1) }],
  ])("%s is refused when it is %j", async (field, wrong) => {
    const connection = JSON.parse(JSON.stringify({ keyId: "key1", sealed: secret, account: {}, ...wrong }));
    await expect(
      callAs(db.sql, team.owner, (tx) => tx`select public.connect_provider(${team.publicId}, ${tx.json(connection)})`),
    ).rejects.toMatchObject({ message: "VALIDATION_FAILED", code: "PT400", detail: `{"field": "${field}"}` });
    expect(await credentialsOf(team)).toBeNull();
  });

  // Guarantee: an account whose conversions belong to its manager can be connected over the Ads API, which is told the whole name of an action.
  test("over the Ads API an action may belong to the owner of the conversions that Google named", async () => {
    const account = { customerId: "1", conversionCustomerId: "1234567890" };
    const connection = { keyId: "key1", sealed: secret, transport: "ads_api", account, actions: defaultActions };
    await callAs(db.sql, team.owner, (tx) => tx`select public.connect_provider(${team.publicId}, ${tx.json(connection)})`);
    await setActions(defaultActions.slice(0, 1));
    const foreign = defaultActions.slice(0, 1).map((chosen) => ({ ...chosen, action: actionOf(1).replace("1234567890", "9999999999") }));
    await expect(setActions(foreign)).rejects.toMatchObject({ message: "VALIDATION_FAILED", detail: '{"field": "actions"}' });
    expect((await readConnection(db.sql, team)).actions).toMatchObject([{ action: actionOf(1) }]);
  });

  // Guarantee: an old and a new name of the same conversion may mean one action, so renaming does not strand rows.
  test("a name of before may mean the same action as the present one", async () => {
    const actions = [...defaultActions, { conversionName: "An older name", action: actionOf(1) }];
    await connectApi(db.sql, team, { actions });
    expect((await readConnection(db.sql, team)).actions).toHaveLength(5);
  });

  // Guarantee: the staging route works without an owner, and says so in the log.
  test("seeded credentials are kept as a service's", async () => {
    const connection = { keyId: "key1", sealed: secret, account: { customerId: "1234567890" }, actions: defaultActions };
    await service(db.sql, "seed_provider_credentials", { p_site_id: team.siteId, p_connection: connection });
    expect(await readConnection(db.sql, team)).toMatchObject({ connected: true, connectedBy: null });
    const unknown = { p_site_id: "00000000-0000-7000-8000-000000000000", p_connection: connection };
    await expect(service(db.sql, "seed_provider_credentials", unknown)).rejects.toMatchObject({ message: "NOT_FOUND" });
  });
});

describe("tenancy", () => {
  const calls: [string, (person: Person) => Promise<unknown>][] = [
    ["connect_provider", (person) => connectApi(db.sql, { ...team, owner: person })],
    ["disconnect_provider", (person) => disconnect(person)],
    [
      "set_conversion_actions",
      (person) => callAs(db.sql, person, (tx) => tx`select public.set_conversion_actions(${team.publicId}, '[]')`),
    ],
    [
      "preview_delivery_switch",
      (person) => callAs(db.sql, person, (tx) => tx`select public.preview_delivery_switch(${team.publicId}, 'script')`),
    ],
    ["switch_delivery", (person) => callAs(db.sql, person, (tx) => tx`select public.switch_delivery(${team.publicId}, 'script')`)],
  ];

  // Guarantee: only an owner lets Google in, shuts it out or changes the way; a site's existence is not revealed to others.
  test.each(calls)("%s: operators and viewers are refused, strangers find nothing", async (_, call) => {
    await connectApi(db.sql, team);
    const before = await db.sql`select * from public.provider_credentials where site_id = ${team.siteId}`;
    const stranger = (await handOver(db.sql, await createTeam(db.sql, `other${number}`, founder), `stranger${number}@other.test`)).owner;
    await expect(call(team.operator)).rejects.toMatchObject({ message: "FORBIDDEN", code: "PT403" });
    await expect(call(team.viewer)).rejects.toMatchObject({ message: "FORBIDDEN", code: "PT403" });
    await expect(call(stranger)).rejects.toMatchObject({ message: "NOT_FOUND", code: "PT404" });
    expect(await db.sql`select * from public.provider_credentials where site_id = ${team.siteId}`).toEqual(before);
    expect((await readConnection(db.sql, team)).syncMethod).toBe("api");
  });

  test("a stranger finds no connection", async () => {
    const stranger = await createPerson(db.sql, `reader${number}@other.test`);
    await expect(readConnection(db.sql, team, stranger)).rejects.toMatchObject({ message: "NOT_FOUND" });
  });

  // Guarantee: what happens to one site leaves its owner's other site alone.
  test("a block, a release and a disconnect touch their own site only", async () => {
    const other = await createQueueTeam(db.sql, `neighbour${number}`, founder, "api");
    await connectApi(db.sql, team);
    await connectApi(db.sql, other);
    const row = await failAuth(db.sql, other);
    await service(db.sql, "block_provider", { p_site_id: other.siteId, ...key, p_code: "A", p_message: "a", p_credentials_version: 1 });
    await connectApi(db.sql, team);
    await disconnect();
    expect((await readRow(db.sql, row)).status).toBe("FAILED");
    expect(await readConnection(db.sql, other)).toMatchObject({ connected: true, health: { blocked: { code: "A" } } });
  });
});

describe("disconnecting", () => {
  // Guarantee: who disconnects can be sure that nothing is left that opens the account.
  test("the ciphertext is gone from the database, and the actions with it", async () => {
    await connectApi(db.sql, team, { sealed: secret });
    await disconnect();
    expect(await db.sql`select from public.provider_credentials where site_id = ${team.siteId}`).toHaveLength(0);
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

describe("actions", () => {
  beforeEach(() => connectApi(db.sql, team));

  // Guarantee: a new choice of actions is a new version, so that an old refusal does not block it.
  test("a new action takes the place of the blocked one and is not blocked", async () => {
    const batch = await startBatch(db.sql, team, minutesLater(0));
    const blockActions = [{ conversionName: defaultNames.seal, code: "INVALID_CONVERSION_ACTION", message: "gone" }];
    await finishBatch(db.sql, team, batch, { outcome: "definite", blockActions }, minutesLater(1));
    const blockedNow = async () =>
      (await readConnection(db.sql, team)).actions.filter(({ blocked }) => blocked).map(({ conversionName }) => conversionName);
    expect(await blockedNow()).toEqual([defaultNames.seal]);
    await setActions(defaultActions); // nothing new: it stays blocked
    expect(await blockedNow()).toEqual([defaultNames.seal]);
    const late = await startBatch(db.sql, team, minutesLater(2));
    expect(await setActions([{ conversionName: defaultNames.seal, action: actionOf(77) }])).toEqual({ version: 3, released: 0 });
    await finishBatch(db.sql, team, late, { outcome: "definite", blockActions }, minutesLater(3));
    expect(await readConnection(db.sql, team)).toMatchObject({ actions: [{ action: actionOf(77), blocked: null }] });
  });

  test("they need a connection", async () => {
    await disconnect();
    await expect(setActions([])).rejects.toMatchObject({ message: "NOT_CONNECTED", code: "PT409" });
  });

  // Guarantee: new credentials without a word about actions do not undo the owner's choice.
  test("new credentials leave them as they are", async () => {
    const connection = { keyId: "key2", sealed: secret, account: { customerId: "1" } };
    await callAs(db.sql, team.owner, (tx) => tx`select public.connect_provider(${team.publicId}, ${tx.json(connection)})`);
    expect((await readConnection(db.sql, team)).actions).toHaveLength(4);
  });
});

describe("a conversion that gets another name", () => {
  beforeEach(() => connectApi(db.sql, team));
  const rename = (names: Record<string, string>) => deliverySettings(db.sql, team, { conversionNames: names });
  const claimedIds = async (minute: number) =>
    (await claimForWorker(db.sql, team, { at: minutesLater(minute) })).rows.map((row) => [row.id, row.conversionAction]);
  const chosen = async () =>
    Object.fromEntries((await readConnection(db.sql, team)).actions.map(({ conversionName, action }) => [conversionName, action]));
  const kept = { keyId: "key2", sealed: secret, account: { customerId: "1234567890" } };
  const connect = (more: Record<string, unknown>) =>
    callAs(db.sql, team.owner, (tx) => tx`select public.connect_provider(${team.publicId}, ${tx.json({ ...kept, ...more } as never)})`);

  // Guarantee: a setting that has nothing to do with the connection does not silently stop every sale.
  // Mutation that breaks it: set_site_delivery without carry_actions.
  test("keeps the action that was chosen for it", async () => {
    await rename({ seal: "Sale" });
    const { id } = await sealLead(db.sql, team);
    expect(await claimedIds(1)).toEqual([[id, actionOf(1)]]);
  });

  // Guarantee: rows that left under the old name can still be sent, whatever the owner chooses or connects next.
  // Mutations that break it: delete every name that is not given in write_actions; count names of the past in check_actions.
  test.each([
    ["new credentials", () => connect({ sealAction: actionOf(1) })],
    ["another action", () => setActions([{ conversionName: "Sale", action: actionOf(77) }])],
  ])("leaves the old name to the rows that left under it, also after %s", async (_name, change) => {
    const { id } = await sealLead(db.sql, team);
    await claimedIds(1);
    await service(db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(20));
    await rename({ seal: "Sale" });
    await change();
    expect(await claimedIds(22)).toEqual([[id, actionOf(1)]]);
  });

  // Guarantee: Google never adds sales and earlier stages up. Mutations that break it: `on conflict do nothing`; drop the delete.
  test("does not take over the action of another kind with its name", async () => {
    const { seal, MEETING_BOOKED } = defaultNames;
    await rename({ seal: MEETING_BOOKED, MEETING_BOOKED: seal });
    expect(await chosen()).toMatchObject({ [MEETING_BOOKED]: actionOf(1), [seal]: actionOf(2) });
    await setActions([{ conversionName: MEETING_BOOKED, action: actionOf(1) }]);
    await rename({ seal: "Sale", MEETING_BOOKED });
    expect(await chosen()).toEqual({ Sale: actionOf(1) });
  });

  // Guarantee: nothing is sent to an account that the site has left.
  test("forgets its old names with the account", async () => {
    await rename({ seal: "Sale" });
    const elsewhere = actionOf(1).replace("1234567890", "9999999999");
    await connect({ sealAction: elsewhere, account: { customerId: "9999999999" } });
    expect(await chosen()).toEqual({ Sale: elsewhere });
  });
});

describe("tests of a connection", () => {
  beforeEach(() => connectApi(db.sql, team));

  // Guarantee: a passed test ends the block and brings its rows back, in one step.
  test("a passed one releases, a failed one is kept beside the last that passed", async () => {
    const row = await failAuth(db.sql, team);
    await service(db.sql, "block_provider", { p_site_id: team.siteId, ...key, p_code: "A", p_message: "a", p_credentials_version: 1 });
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
    await service(db.sql, "block_provider", { p_site_id: team.siteId, ...key, p_code: "A", p_message: "a", p_credentials_version: 2 });
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
    service<{ siteId: string; version: number; sealed: string }[]>(db.sql, "list_sealed_credentials", { p_key_id: keyId, p_limit: 10 });
  const reseal = (version: number) =>
    service(db.sql, "reseal_credentials", {
      p_site_id: team.siteId,
      ...key,
      p_version: version,
      p_key_id: "new-key",
      p_sealed: "cmVzZWFsZWQgd2l0aCBhbm90aGVy",
    });

  // Guarantee: a rotation changes the lock and not the credentials; nothing has to be tested or released after it.
  test("what the old key sealed is listed, replaced once, and keeps its version", async () => {
    await connectApi(db.sql, team, { keyId: "old-key", sealed: secret });
    expect(await list("old-key")).toEqual([expect.objectContaining({ siteId: team.siteId, version: 1, sealed: secret })]);
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
  const preview = (to: string) => callAs(db.sql, team.owner, (tx) => tx`select public.preview_delivery_switch(${team.publicId}, ${to})`);
  const switchTo = (to: string) => callAs(db.sql, team.owner, (tx) => tx`select public.switch_delivery(${team.publicId}, ${to})`);

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
    await callAs(db.sql, team.owner, (tx) => tx`select public.set_site_archived(${team.publicId}, true)`);
    await expect(switchTo("script")).rejects.toMatchObject({ message: "SITE_ARCHIVED" });
    expect((await passGate(db.sql, team, minutesLater(0))).gate).toBe("NOT_CONNECTED");
  });
});

// Guarantee: the circuit says that the provider is ill, the block that we are not let in; one never hides the other.
test("block and circuit are separate", async () => {
  await connectApi(db.sql, team);
  await openCircuit(db.sql, team, minutesLater(0));
  await service(db.sql, "block_provider", { p_site_id: team.siteId, ...key, p_code: "A", p_message: "a", p_credentials_version: 1 });
  expect((await passGate(db.sql, team, minutesLater(10))).gate).toBe("BLOCKED");
  await connectApi(db.sql, team);
  expect(await readHealth(db.sql, team)).toMatchObject({ state: "OPEN", blocked_at: null });
  expect((await passGate(db.sql, team, minutesLater(10))).gate).toBe("HALF_OPEN");
});
