import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { become, callAs } from "#tests/fixtures/act-as.ts";
import { createPerson, createTeam, join, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { whileOpen } from "#tests/support/while-open.ts";

interface MyAccount {
  sites: { siteId: string; role: string; archived: boolean; onlyOwner: boolean }[];
}

let db: TestDatabase;
let team: Team;
let founder: Person;
let number = 0;

beforeAll(async () => {
  db = await createTestDatabase();
  founder = (await createTeam(db.sql, "home")).owner;
});
afterAll(() => db.drop());
beforeEach(async () => {
  team = await createTeam(db.sql, `account${number++}`, founder);
});

const account = (person: Person) => callAs<MyAccount>(db.sql, person, (tx) => tx`select public.my_account()`);
const mine = async (person: Person) => (await account(person)).sites.find(({ siteId }) => siteId === team.siteId);
const deleteAccount = (person: Person) => callAs(db.sql, person, (tx) => tx`select public.delete_my_account()`);
const leave = (person: Person) => callAs(db.sql, person, (tx) => tx`select public.remove_member(${team.siteId}, ${person.id})`);
const archive = (person: Person, archived = true) =>
  callAs(db.sql, person, (tx) => tx`select public.set_site_archived(${team.siteId}, ${archived})`);
const handOver = async () => {
  const heir = await createPerson(db.sql, `heir${number}@account.test`);
  await join(db.sql, team, heir, "owner");
  return heir;
};
const owners = async () => {
  const [row] = await db.sql`select count(*)::int as n from public.site_members where site_id = ${team.siteUuid} and role = 'owner'`;
  return row?.n;
};

// Guarantee: nobody is held in an account, and no open site is left to nobody.
test("the only owner of an open site cannot leave or delete the account, and is told which sites stand in the way", async () => {
  const owner = await handOver();
  await leave(team.owner);
  expect(await mine(owner)).toMatchObject({ role: "owner", onlyOwner: true });
  await expect(leave(owner)).rejects.toMatchObject({ message: "LAST_OWNER" });
  const refused = await deleteAccount(owner).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "PT409", message: "LAST_OWNER", detail: expect.stringContaining(`account${number - 1}`) });
  expect(await owners()).toBe(1);
});

test("after handing over, the account goes with its sessions and memberships; its lines stay under its address", async () => {
  const heir = await handOver();
  await callAs(db.sql, heir, (tx) => tx`select public.create_site_api_key(${team.siteId}, 'Script')`);
  await deleteAccount(heir);
  expect(await db.sql`select from auth.users where id = ${heir.id}`).toHaveLength(0);
  expect(await owners()).toBe(1);
  const { entries } = await callAs<{ entries: { kind: string; to: string; actorName: string }[] }>(
    db.sql,
    team.owner,
    (tx) => tx`select public.list_activity(${team.siteId}, ${tx.json({ actor: heir.id })})`,
  );
  expect(entries.slice(0, 2)).toMatchObject([
    { kind: "member", to: "left", actorName: heir.email },
    { kind: "key", to: "made", actorName: heir.email },
  ]);
});

test("an archived site lets its last owner go, and stays archived", async () => {
  const owner = await handOver();
  await leave(team.owner);
  await archive(owner);
  expect(await mine(owner)).toMatchObject({ archived: true, onlyOwner: false });
  await deleteAccount(owner);
  expect(await owners()).toBe(0);
  await expect(archive(team.operator, false)).rejects.toMatchObject({ message: "FORBIDDEN" });
});

// Mutation: without the site's row lock in keep_an_owner both see the other one and go.
test("of two owners who delete their accounts at the same moment, one stays", async () => {
  const [first, second] = [await handOver(), await createPerson(db.sql, `second${number}@account.test`)];
  await join(db.sql, team, second, "owner");
  await leave(team.owner);
  const goFirst = async (tx: Parameters<typeof become>[0]) => {
    await become(tx, first.id);
    await tx`select public.delete_my_account()`;
  };
  const outcome = await whileOpen(db.sql, goFirst, () => deleteAccount(second).catch((error: unknown) => error));
  expect(outcome).toMatchObject({ message: "LAST_OWNER" });
  expect(await owners()).toBe(1);
});

test("a viewer deletes the account without asking anybody; an old sign-in does not do", async () => {
  expect(await mine(team.viewer)).toMatchObject({ role: "viewer", onlyOwner: false });
  const old = db.sql.begin(async (tx) => {
    const amr = [{ method: "password", timestamp: Math.floor(Date.now() / 1000) - 16 * 60 }];
    await tx`select set_config('request.jwt.claims', ${JSON.stringify({ sub: team.viewer.id, role: "authenticated", amr })}, true)`;
    await tx`select public.delete_my_account()`;
  });
  await expect(old).rejects.toMatchObject({ message: "SIGN_IN_AGAIN" });
  await deleteAccount(team.viewer);
  expect(await db.sql`select from public.site_members where user_id = ${team.viewer.id}`).toHaveLength(0);
});
