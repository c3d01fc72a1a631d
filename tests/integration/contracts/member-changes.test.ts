import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DELETE as withdraw } from "#app/api/sites/[siteId]/invitations/[invitationId]/route.ts";
import { PATCH as changeRole, DELETE as remove } from "#app/api/sites/[siteId]/members/[userId]/route.ts";
import { POST as invite } from "#app/api/sites/[siteId]/members/route.ts";
import { requestIdentity } from "#lib/http/answer-once.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { createPerson, join, type Person } from "#tests/fixtures/team.ts";
import { appOrigin } from "#tests/support/app-env.ts";
import { asPerson, type ContractsApp, readAnswer, startContractsApp } from "#tests/support/contracts-app.ts";
import { send } from "#tests/support/requests.ts";

let app: ContractsApp;
let owner: Record<string, string>;
beforeAll(async () => {
  app = await startContractsApp();
  owner = await asPerson(app.gateway, app.team.owner);
});
afterAll(() => app.stop());

const path = (rest: string) => `/api/sites/${app.team.siteId}/${rest}`;
const siteId = () => ({ siteId: app.team.siteId });

const inviteAs = async (key: string | null, body: object, headers = owner) =>
  readAnswer(
    await send(invite, {
      path: path("members"),
      params: siteId(),
      body,
      headers: { ...headers, ...(key !== null && { "idempotency-key": key }) },
    }),
  );
const roleAs = async (key: string | null, person: Person, role: string) =>
  readAnswer(
    await send(changeRole, {
      method: "PATCH",
      path: path(`members/${person.id}`),
      params: { ...siteId(), userId: person.id },
      body: { role },
      headers: { ...owner, ...(key !== null && { "idempotency-key": key }) },
    }),
  );
const removeAs = async (key: string | null, person: Person) =>
  readAnswer(
    await send(remove, {
      method: "DELETE",
      path: path(`members/${person.id}`),
      params: { ...siteId(), userId: person.id },
      headers: { ...owner, ...(key !== null && { "idempotency-key": key }) },
    }),
  );

const mailsTo = (address: string) => app.gateway.mailbox.mails().filter((mail) => mail.to === address).length;

async function member(role: string): Promise<Person> {
  const person = await createPerson(app.db.sql, `m-${randomUUID()}@person.test`);
  await join(app.db.sql, app.team, person, role);
  return person;
}
const roleOf = async (person: Person) =>
  (await app.db.sql`select role from public.site_members where site_id = ${app.team.siteUuid} and user_id = ${person.id}`)[0]?.role ?? null;

// Guarantee: an owner's retry on a bad line does not fill somebody's inbox.
test("an invitation repeated with its key is one invitation, one mail, the same bytes", async () => {
  const [email, key] = [`${randomUUID()}@person.test`, randomUUID()];
  const first = await inviteAs(key, { email, role: "viewer" });
  expect([first.status, first.replayed, first.body]).toEqual([200, false, { invitationId: expect.any(String), mailed: true }]);
  const again = await inviteAs(key, { email, role: "viewer" });
  expect([again.status, again.replayed, again.text]).toEqual([200, true, first.text]);
  expect(mailsTo(email)).toBe(1);
  const other = await inviteAs(key, { email, role: "owner" });
  expect([other.status, other.body.code]).toEqual([422, "IDEMPOTENCY_KEY_REUSED"]);
  const plain = await inviteAs(null, { email, role: "viewer" });
  expect([plain.body.mailed, plain.replayed, mailsTo(email)]).toEqual([true, false, 2]);
});

// Guarantee: where nobody knows whether a mail went out, none is sent a second time and the answer does not claim one.
test("a repeat of an invitation whose first request died before its mail says so, and says the same ever after", async () => {
  const [email, key] = [`${randomUUID()}@person.test`, randomUUID()];
  const request = new Request(new URL(path("members"), appOrigin), { method: "POST", headers: { "idempotency-key": key } });
  const { p_request_hash } = requestIdentity(request, JSON.stringify({ email, role: "viewer" }));
  await callAs(
    app.db.sql,
    app.team.owner,
    (tx) => tx`select public.invite_site_member(${app.team.siteId}, ${email}, 'viewer', ${p_request_hash}, ${key})`,
  );
  const again = await inviteAs(key, { email, role: "viewer" });
  expect([again.status, again.replayed, again.body.mailed, mailsTo(email)]).toEqual([200, true, false, 0]);
  expect((await inviteAs(key, { email, role: "viewer" })).text).toBe(again.text);
});

test("a refusal is kept: the address that was a member then", async () => {
  const person = await member("viewer");
  const key = randomUUID();
  const first = await inviteAs(key, { email: person.email, role: "viewer" });
  expect([first.status, first.body.code, mailsTo(person.email)]).toEqual([409, "ALREADY_MEMBER", 0]);
  await removeAs(null, person);
  const again = await inviteAs(key, { email: person.email, role: "viewer" });
  expect([again.status, again.replayed, again.text]).toEqual([409, true, first.text]);
});

// Guarantee: an old request that arrives late does not undo what was decided since.
test("a role change and a removal happen once per key", async () => {
  const person = await member("viewer");
  const [roleKey, removeKey] = [randomUUID(), randomUUID()];
  expect((await roleAs(roleKey, person, "operator")).body).toEqual({ ok: true });
  await roleAs(null, person, "viewer");
  const lateRole = await roleAs(roleKey, person, "operator");
  expect([lateRole.status, lateRole.replayed, await roleOf(person)]).toEqual([200, true, "viewer"]);

  const first = await removeAs(removeKey, person);
  expect([first.status, await roleOf(person)]).toEqual([200, null]);
  await join(app.db.sql, app.team, person, "viewer");
  const lateRemoval = await removeAs(removeKey, person);
  expect([lateRemoval.text, lateRemoval.replayed, await roleOf(person)]).toEqual([first.text, true, "viewer"]);
  expect([(await removeAs(null, person)).status, (await removeAs(null, person)).status]).toEqual([200, 404]);
});

test("a withdrawal repeated with its key is still done; without one it is a 404", async () => {
  const { body } = await inviteAs(null, { email: `${randomUUID()}@person.test`, role: "viewer" });
  const invitationId = String(body.invitationId);
  const call = async (key: string | null) =>
    readAnswer(
      await send(withdraw, {
        method: "DELETE",
        path: path(`invitations/${invitationId}`),
        params: { ...siteId(), invitationId },
        headers: { ...owner, ...(key !== null && { "idempotency-key": key }) },
      }),
    );
  const key = randomUUID();
  const [first, again, without] = [await call(key), await call(key), await call(null)];
  expect([first.status, again.status, again.replayed, again.text === first.text, without.status]).toEqual([200, 200, true, true, 404]);
});

// Guarantee: an answer is not shown to somebody who may not ask any more.
test("whoever is no owner any more gets 403, not the kept answer; and a bad key is 400", async () => {
  const second = await member("owner");
  const headers = await asPerson(app.gateway, second);
  const [email, key] = [`${randomUUID()}@person.test`, randomUUID()];
  expect((await inviteAs(key, { email, role: "viewer" }, headers)).status).toBe(200);
  await roleAs(null, second, "operator");
  expect((await inviteAs(key, { email, role: "viewer" }, headers)).status).toBe(403);
  expect((await inviteAs('""', { email, role: "viewer" })).body.code).toBe("INVALID_IDEMPOTENCY_KEY");
});
