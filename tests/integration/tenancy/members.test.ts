import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { createPerson, createTeam, join, type Person, type Team } from "#tests/fixtures/team.ts";
import { forceRace } from "#tests/support/force-race.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let founder: Team;
let team: Team;
let count = 0;

beforeAll(async () => {
  db = await createTestDatabase();
  founder = await createTeam(db.sql, "founder");
});
afterAll(() => db.drop());
beforeEach(async () => {
  count += 1;
  team = await createTeam(db.sql, `team${count}`, founder.owner);
});

const invite = (owner: Person, email: string, role = "viewer", at?: Date) =>
  callAs<{ invitationId: string }>(db.sql, owner, (tx) => tx`select public.invite_site_member(${team.siteId}, ${email}, ${role})`, at);
const accept = (person: Person, invitationId: string) =>
  callAs(db.sql, person, (tx) => tx`select public.accept_invitation(${invitationId})`);
const remove = (owner: Person, member: Person) =>
  callAs(db.sql, owner, (tx) => tx`select public.remove_member(${team.siteId}, ${member.id})`);
const setRole = (owner: Person, member: Person, role: string) =>
  callAs(db.sql, owner, (tx) => tx`select public.change_member_role(${team.siteId}, ${member.id}, ${role})`);
const roles = async () => {
  const { members } = await callAs<{ members: { userId: string; role: string }[] }>(
    db.sql,
    team.owner,
    (tx) => tx`select public.list_site_members(${team.siteId})`,
  );
  return Object.fromEntries(members.map((member) => [member.userId, member.role]));
};

test("an invitation is accepted once, by the invited address only", async () => {
  const invited = await createPerson(db.sql, `invited${count}@new.test`);
  const { invitationId } = await invite(team.owner, invited.email.toUpperCase(), "operator");
  await expect(accept(team.viewer, invitationId)).rejects.toMatchObject({ message: "NOT_FOUND" });
  await expect(accept(invited, invitationId)).resolves.toEqual({ siteId: team.siteId });
  await expect(accept(invited, invitationId)).rejects.toMatchObject({ message: "NOT_FOUND" });
  expect((await roles())[invited.id]).toBe("operator");
});

// Guarantee: whoever merely types somebody's address into a sign-up form does not inherit their invitation.
test("an address that was never confirmed cannot accept", async () => {
  const invited = await createPerson(db.sql, `unconfirmed${count}@new.test`);
  await db.sql`update auth.users set email_confirmed_at = null where id = ${invited.id}`;
  const { invitationId } = await invite(team.owner, invited.email);
  await expect(accept(invited, invitationId)).rejects.toMatchObject({ message: "NOT_FOUND" });
});

test("an invitation is void after fourteen days, and inviting again renews it", async () => {
  const invited = await createPerson(db.sql, `late${count}@new.test`);
  const fifteenDaysAgo = new Date(Date.now() - 15 * 86_400_000);
  const old = await invite(team.owner, invited.email, "viewer", fifteenDaysAgo);
  await expect(accept(invited, old.invitationId)).rejects.toMatchObject({ message: "INVITATION_EXPIRED" });
  const renewed = await invite(team.owner, invited.email, "operator");
  expect(renewed.invitationId).toBe(old.invitationId);
  await accept(invited, renewed.invitationId);
  expect((await roles())[invited.id]).toBe("operator");
});

test("a member is not invited again, and only owners invite", async () => {
  await expect(invite(team.owner, team.viewer.email)).rejects.toMatchObject({ code: "PT409", message: "ALREADY_MEMBER" });
  for (const person of [team.operator, team.viewer])
    await expect(invite(person, "x@y.test")).rejects.toMatchObject({ message: "FORBIDDEN" });
});

test("a declined or withdrawn invitation is gone", async () => {
  const invited = await createPerson(db.sql, `shy${count}@new.test`);
  const first = await invite(team.owner, invited.email);
  await callAs(db.sql, invited, (tx) => tx`select public.decline_invitation(${first.invitationId})`);
  await expect(accept(invited, first.invitationId)).rejects.toMatchObject({ message: "NOT_FOUND" });
  const second = await invite(team.owner, invited.email);
  const withdraw = () => callAs(db.sql, team.owner, (tx) => tx`select public.withdraw_invitation(${team.siteId}, ${second.invitationId})`);
  await expect(withdraw()).resolves.toEqual({ ok: true });
  await expect(withdraw()).rejects.toMatchObject({ message: "NOT_FOUND" });
});

test("old invitations are forgotten thirty days after they ran out, not before", async () => {
  const purge = async () => (await db.sql`select public.purge_expired_invitations() as result`)[0]?.result.purged;
  await invite(team.owner, "gone@x.test", "viewer", new Date(Date.now() - 45 * 86_400_000));
  await invite(team.owner, "expired@x.test", "viewer", new Date(Date.now() - 43 * 86_400_000));
  expect(await purge()).toBe(1);
  expect(await purge()).toBe(0);
});

test("roles change and members leave; nobody below owner decides it", async () => {
  await setRole(team.owner, team.viewer, "operator");
  expect((await roles())[team.viewer.id]).toBe("operator");
  for (const person of [team.operator, team.viewer]) {
    await expect(setRole(person, team.viewer, "owner")).rejects.toMatchObject({ message: "FORBIDDEN" });
    await expect(remove(person, team.owner)).rejects.toMatchObject({ message: "FORBIDDEN" });
  }
  await remove(team.owner, team.viewer);
  expect(await roles()).not.toHaveProperty(team.viewer.id);
});

// Guarantee: who was removed stays removed, whatever invitation they prepared.
test("an owner who is removed or demoted takes their open invitations with them", async () => {
  const helper = await createPerson(db.sql, `helper${count}@own.test`);
  const backDoor = await createPerson(db.sql, `back-door${count}@own.test`);
  await join(db.sql, team, helper, "owner");
  const { invitationId } = await invite(helper, backDoor.email, "owner");
  await setRole(team.owner, helper, "operator");
  await expect(accept(backDoor, invitationId)).rejects.toMatchObject({ message: "NOT_FOUND" });
});

test("anyone may leave a site themselves", async () => {
  await remove(team.viewer, team.viewer);
  expect(await roles()).not.toHaveProperty(team.viewer.id);
});

test.each(["not-an-email", "a b@c.test", "<b>@c.test", "a@c"])("the address %j is refused by the database itself", async (email) => {
  await expect(invite(team.owner, email)).rejects.toMatchObject({ constraint_name: "email_is_an_address" });
});

test("a name that people gave themselves is cut and cleaned where others see it", async () => {
  await db.sql`update auth.users set raw_user_meta_data = jsonb_build_object('full_name', ${`\u202e${"x".repeat(5000)}`}::text) where id = ${team.viewer.id}`;
  const { members } = await callAs<{ members: { name: string }[] }>(
    db.sql,
    team.owner,
    (tx) => tx`select public.list_site_members(${team.siteId})`,
  );
  for (const { name } of members) expect(name).toMatch(/^[^\u202e]{1,80}$/);
});

test("the last owner is neither removed nor demoted, nor is their account deleted", async () => {
  await expect(remove(team.owner, team.owner)).rejects.toMatchObject({ code: "PT409", message: "LAST_OWNER" });
  await expect(setRole(team.owner, team.owner, "viewer")).rejects.toMatchObject({ message: "LAST_OWNER" });
  await expect(db.sql`delete from auth.users where id = ${team.owner.id}`).rejects.toMatchObject({ message: "LAST_OWNER" });
});

// Guarantee: a site is never left without an owner. Mutation: without "for update" in keep_an_owner both removals commit.
test("two owners who remove each other at the same moment leave one", async () => {
  const other = await createPerson(db.sql, `other${count}@own.test`);
  await join(db.sql, team, other, "owner");
  const outcome = await forceRace(
    db.sql,
    team.owner,
    (tx) => tx`select public.remove_member(${team.siteId}, ${other.id})`,
    () => remove(other, team.owner),
  );
  expect(outcome).toMatchObject({ message: "LAST_OWNER" });
  expect(Object.values(await roles())).toContain("owner");
});
