import { afterAll, beforeAll, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { createPerson, createTeam, password, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { anonymousClient, signInAs, startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let db: TestDatabase;
let gateway: TestGateway;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
  team = await createTeam(db.sql, "mail");
});
afterAll(async () => {
  await gateway.stop();
  await db.drop();
});

const invite = (email: string, role = "operator", on = team) =>
  callAs<{ invitationId: string }>(db.sql, on.owner, (tx) => tx`select public.invite_site_member(${on.siteId}, ${email}, ${role})`);
/** The text of the newest mail to this address, after the sign-in link that an invitation sends. */
async function mailTo(email: string, data: Record<string, unknown> = {}): Promise<string> {
  expect((await anonymousClient(gateway).auth.signInWithOtp({ email, options: { data } })).error).toBeNull();
  return gateway.mailbox.mails().find((mail) => mail.to === email)?.html ?? "";
}
const forged = { invitation: { by: "security@opsmantik.example", site: "Your account is locked", role: "owner" }, full_name: "OpsMantik" };

// Guarantee: who gets the mail reads who invites them, to what and as what, whether they have an account or not.
// Mutations: no trigger on accounts (new ones name nobody); none on invitations (existing ones do).
test.each([
  ["a new account", async () => "new@mail-new.test"],
  ["an account that was there", async () => (await createPerson(db.sql, "old@mail-old.test")).email],
])("the mail to %s names inviter, site and role", async (_name, account) => {
  const email = await account();
  await invite(email);
  const html = await mailTo(email);
  expect(html).toContain(`${team.owner.email} invited you to the site “mail” as Operator.`);
  expect(html).toContain(`${team.owner.email} sizi “mail” sitesine davet etti. Rolünüz: Operatör.`);
  expect(html).not.toContain("{{");
});

// Guarantee: nobody makes us write a mail in our name with their words in it: the sign-up endpoint is open to everybody.
test("data that a stranger signs an address up with is in no mail", async () => {
  const html = await mailTo("victim@mail-victim.test", forged);
  expect(html).not.toMatch(/locked|security@|invited you/);
  const invited = "invited@mail-victim.test";
  await invite(invited, "viewer");
  const named = await mailTo(invited, forged);
  expect(named).toContain("as Viewer.");
  expect(named).not.toMatch(/locked|security@/);
});

test("nor is what somebody writes into their own account", async () => {
  const { email } = await createPerson(db.sql, "own@mail-own.test");
  const client = await signInAs(gateway, { email, password });
  await client.auth.updateUser({ data: forged });
  expect(await mailTo(email)).not.toMatch(/locked|security@|invited you/);
  const [account] = await db.sql`select raw_user_meta_data as data from auth.users where email = ${email}`;
  expect(account?.data).toEqual({ full_name: "OpsMantik" });
});

// Guarantee: an owner's chosen words stay words: no markup, no link, bounded.
test("a site's name is escaped and leads nowhere", async () => {
  const loud = await createTeam(db.sql, "loud", team.owner);
  await db.sql`update public.sites set name = '<b>Pay</b> https://evil.example now' where id = ${loud.siteUuid}`;
  await invite("loud@mail-loud.test", "viewer", loud);
  const html = await mailTo("loud@mail-loud.test");
  expect(html).toContain("“&#60;b&#62;Pay&#60;/b&#62; evil.\u2060example now”");
  expect(html.match(/https?:\/\//g)).toEqual(["http://", "http://"]); // the two buttons
});

test("an invitation that was declined, withdrawn or is over is named no more", async () => {
  const person = await createPerson(db.sql, "gone@mail-gone.test");
  const { invitationId } = await invite(person.email);
  await callAs(db.sql, person, (tx) => tx`select public.decline_invitation(${invitationId})`);
  expect(await mailTo(person.email)).not.toContain("invited you");
  const fifteenDaysAgo = new Date(Date.now() - 15 * 86_400_000);
  await callAs(db.sql, team.owner, (tx) => tx`select public.invite_site_member(${team.siteId}, ${person.email}, 'viewer')`, fifteenDaysAgo);
  await db.sql`update auth.users set raw_user_meta_data = raw_user_meta_data where id = ${person.id}`;
  expect(await mailTo(person.email)).not.toContain("invited you");
});
