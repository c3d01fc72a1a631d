import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { actionOf, connectApi, defaultActions, defaultNames } from "#tests/fixtures/connections.ts";
import { claimForWorker, minutesLater, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { finishBatch, startBatch } from "#tests/support/circuit.ts";
import { readConnection } from "#tests/support/connections.ts";
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
const disconnect = (person: Person = team.owner) => callAs(db.sql, person, (tx) => tx`select public.disconnect_provider(${team.siteId})`);
const setActions = (actions: unknown[]) =>
  callAs<{ version: number; released: number }>(
    db.sql,
    team.owner,
    (tx) => tx`select public.set_conversion_actions(${team.siteId}, ${tx.json(actions as never)})`,
  );

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
    await callAs(db.sql, team.owner, (tx) => tx`select public.connect_provider(${team.siteId}, ${tx.json(connection)})`);
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
    callAs(db.sql, team.owner, (tx) => tx`select public.connect_provider(${team.siteId}, ${tx.json({ ...kept, ...more } as never)})`);

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
