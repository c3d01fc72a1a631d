import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { actionOf, connectApi, defaultActions } from "#tests/fixtures/connections.ts";
import { readRow } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { createPerson, createTeam, handOver, type Person, type Team } from "#tests/fixtures/team.ts";
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
const setActions = (actions: unknown[]) =>
  callAs<{ version: number; released: number }>(
    db.sql,
    team.owner,
    (tx) => tx`select public.set_conversion_actions(${team.siteId}, ${tx.json(actions as never)})`,
  );
const activity = async () => {
  const { entries } = await callAs<{ entries: { kind: string; from: string; to: string; actorName: string; entityId: string }[] }>(
    db.sql,
    team.viewer,
    (tx) => tx`select public.list_activity(${team.siteId})`,
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
    await callAs(db.sql, team.owner, (tx) => tx`select public.connect_provider(${team.siteId}, ${tx.json(connection)})`);
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
    expect(log[0]?.entityId).not.toBe(team.siteUuid);
    expect(log[0]?.actorName).toBe("founder@connections.test");
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
      callAs(db.sql, team.owner, (tx) => tx`select public.connect_provider(${team.siteId}, ${tx.json(connection)})`),
    ).rejects.toMatchObject({ message: "VALIDATION_FAILED", code: "PT400", detail: `{"field": "${field}"}` });
    expect(await credentialsOf(team)).toBeNull();
  });

  // Guarantee: an account whose conversions belong to its manager can be connected over the Ads API, which is told the whole name of an action.
  test("over the Ads API an action may belong to the owner of the conversions that Google named", async () => {
    const account = { customerId: "1", conversionCustomerId: "1234567890" };
    const connection = { keyId: "key1", sealed: secret, transport: "ads_api", account, actions: defaultActions };
    await callAs(db.sql, team.owner, (tx) => tx`select public.connect_provider(${team.siteId}, ${tx.json(connection)})`);
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
    await service(db.sql, "seed_provider_credentials", { p_site_id: team.siteUuid, p_connection: connection });
    expect(await readConnection(db.sql, team)).toMatchObject({ connected: true, connectedBy: null });
    const unknown = { p_site_id: "00000000-0000-7000-8000-000000000000", p_connection: connection };
    await expect(service(db.sql, "seed_provider_credentials", unknown)).rejects.toMatchObject({ message: "NOT_FOUND" });
  });
});

describe("tenancy", () => {
  const calls: [string, (person: Person) => Promise<unknown>][] = [
    ["connect_provider", (person) => connectApi(db.sql, { ...team, owner: person })],
    ["disconnect_provider", (person) => disconnect(person)],
    ["set_conversion_actions", (person) => callAs(db.sql, person, (tx) => tx`select public.set_conversion_actions(${team.siteId}, '[]')`)],
    [
      "preview_delivery_switch",
      (person) => callAs(db.sql, person, (tx) => tx`select public.preview_delivery_switch(${team.siteId}, 'script')`),
    ],
    ["switch_delivery", (person) => callAs(db.sql, person, (tx) => tx`select public.switch_delivery(${team.siteId}, 'script')`)],
  ];

  // Guarantee: only an owner lets Google in, shuts it out or changes the way; a site's existence is not revealed to others.
  test.each(calls)("%s: operators and viewers are refused, strangers find nothing", async (_, call) => {
    await connectApi(db.sql, team);
    const before = await db.sql`select * from public.provider_credentials where site_id = ${team.siteUuid}`;
    const stranger = (await handOver(db.sql, await createTeam(db.sql, `other${number}`, founder), `stranger${number}@other.test`)).owner;
    await expect(call(team.operator)).rejects.toMatchObject({ message: "FORBIDDEN", code: "PT403" });
    await expect(call(team.viewer)).rejects.toMatchObject({ message: "FORBIDDEN", code: "PT403" });
    await expect(call(stranger)).rejects.toMatchObject({ message: "NOT_FOUND", code: "PT404" });
    expect(await db.sql`select * from public.provider_credentials where site_id = ${team.siteUuid}`).toEqual(before);
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
    await service(db.sql, "block_provider", { p_site_id: other.siteUuid, ...key, p_code: "A", p_message: "a", p_credentials_version: 1 });
    await connectApi(db.sql, team);
    await disconnect();
    expect((await readRow(db.sql, row)).status).toBe("FAILED");
    expect(await readConnection(db.sql, other)).toMatchObject({ connected: true, health: { blocked: { code: "A" } } });
  });
});
