import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createPerson, type Person, password } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { anonymousClient, signInAs, startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let db: TestDatabase;
let gateway: TestGateway;
let victim: Person;
let number = 0;

beforeAll(async () => {
  db = await createTestDatabase();
  gateway = await startTestGateway(db.adminUrl);
});
afterAll(async () => {
  await gateway?.stop();
  await db?.drop();
});
beforeEach(async () => {
  victim = await createPerson(db.sql, `victim-${number++}@sessions.test`);
});

const signIn = (word = password) => signInAs(gateway, { email: victim.email, password: word });
const tokenOf = async (client: Awaited<ReturnType<typeof signIn>>) => (await client.auth.getSession()).data.session;
const age = (span: string) =>
  db.sql`update auth.sessions set created_at = now() - ${span}::interval, refreshed_at = null where user_id = ${victim.id}`;
/** What somebody does who has nothing but a copied access token. */
const withToken = (token: string | undefined, method: string, path: string, body?: unknown) =>
  fetch(`${gateway.url}/auth/v1/${path}`, {
    method,
    headers: { apikey: gateway.publishableKey, authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
const setPassword = (token: string | undefined, word: string) => withToken(token, "PUT", "user", { password: word });

/** The id of a session that a link from an e-mail opened. */
async function linkSession(): Promise<string> {
  const guest = anonymousClient(gateway);
  await guest.auth.resetPasswordForEmail(victim.email);
  const mail = gateway.mailbox.mails().find(({ to }) => to === victim.email);
  const { data } = await guest.auth.verifyOtp({
    type: "recovery",
    token_hash: new URL(mail?.link ?? "").searchParams.get("token_hash") ?? "",
  });
  return JSON.parse(Buffer.from(data.session?.access_token.split(".")[1] ?? "", "base64url").toString()).session_id;
}

describe("a stolen token", () => {
  // Guarantee: a copied session does not become the account. The rule is a trigger on auth.users, so it holds whatever gateway is asked.
  test("changes no password when nobody signed in during the last 15 minutes", async () => {
    const stolen = await tokenOf(await signIn());
    await age("16 minutes");
    const answer = await setPassword(stolen?.access_token, "the-thiefs-own-words");
    expect(answer.ok).toBe(false);
    await expect(signIn()).resolves.toBeDefined();
    await expect(signIn("the-thiefs-own-words")).rejects.toBeDefined();
  });

  test("refreshed by the thief, it still changes none", async () => {
    const stolen = await tokenOf(await signIn());
    await age("16 minutes");
    const { data } = await anonymousClient(gateway).auth.refreshSession({ refresh_token: stolen?.refresh_token ?? "" });
    expect((await setPassword(data.session?.access_token, "the-thiefs-own-words")).ok).toBe(false);
  });

  // Mutation: let the gateway answer without askingPresentPassword.
  test.each([
    ["no present password", {}],
    ["a wrong one", { current_password: "not-the-present-one" }],
    ["an empty one", { current_password: "" }],
    ["one that is no text", { current_password: true }],
  ])("changes no password within those 15 minutes either, with %s", async (_name, given) => {
    const stolen = await tokenOf(await signIn());
    for (const path of ["user", "user/", "us%65r"]) {
      const answer = await withToken(stolen?.access_token, "PUT", path, { password: "the-thiefs-own-words", ...given });
      expect(answer.ok, path).toBe(false);
    }
    await expect(signIn("the-thiefs-own-words")).rejects.toBeDefined();
  });

  test("with the session of a link that somebody else opened in its name, it changes none", async () => {
    const stolen = await tokenOf(await signIn());
    const claims = Buffer.from(JSON.stringify({ session_id: await linkSession() })).toString("base64url");
    const [head, , signature] = (stolen?.access_token ?? "").split(".");
    expect((await setPassword(`${head}.${claims}.${signature}`, "the-thiefs-own-words")).ok).toBe(false);
  });

  test("of a session that was signed out elsewhere, it is refused by Auth at once and cannot be refreshed", async () => {
    const stolen = await tokenOf(await signIn());
    const own = await signIn();
    await own.auth.signOut({ scope: "others" });
    expect((await withToken(stolen?.access_token, "GET", "user")).ok).toBe(false);
    const { error } = await anonymousClient(gateway).auth.refreshSession({ refresh_token: stolen?.refresh_token ?? "" });
    expect(error).not.toBeNull();
    expect((await own.auth.getUser()).data.user?.email).toBe(victim.email);
  });
});

test("whoever knows the present password changes it, and the question leaves no session behind", async () => {
  const client = await signIn();
  const { error } = await client.auth.updateUser({ password: "a-new-quiet-sentence", current_password: password });
  expect(error).toBeNull();
  await expect(signIn("a-new-quiet-sentence")).resolves.toBeDefined();
  const [row] = await db.sql`select count(*)::int as sessions from auth.sessions where user_id = ${victim.id}`;
  expect(row?.sessions).toBe(2);
});

test("a forgotten password is still replaced through its link, however old the last sign-in is", async () => {
  await signIn();
  await age("40 days");
  const guest = anonymousClient(gateway);
  await guest.auth.resetPasswordForEmail(victim.email);
  const mail = gateway.mailbox.mails().find(({ to }) => to === victim.email);
  const tokenHash = new URL(mail?.link ?? "").searchParams.get("token_hash") ?? "";
  await guest.auth.verifyOtp({ type: "recovery", token_hash: tokenHash });
  expect((await guest.auth.updateUser({ password: "a-new-quiet-sentence" })).error).toBeNull();
  await expect(signIn("a-new-quiet-sentence")).resolves.toBeDefined();
});

describe("a session nobody uses", () => {
  test.each([
    ["ends after 30 days", "31 days", false],
    ["lives for 29 days", "29 days", true],
  ])("%s", async (_name, span, lives) => {
    const client = await signIn();
    await age(span);
    const { error } = await client.auth.refreshSession();
    expect(error === null).toBe(lives);
  });
});

describe("one's own sessions", () => {
  const list = async (client: Awaited<ReturnType<typeof signIn>>) => {
    const { data } = await client.rpc("my_account");
    return data.sessions.map(({ isThis }: { isThis: boolean }) => isThis);
  };

  test("are listed, this one first; signing out elsewhere leaves only it", async () => {
    const [first, second] = [await signIn(), await signIn()];
    expect(await list(first)).toEqual([true, false]);
    expect(await list(second)).toEqual([true, false]);
    await second.auth.signOut({ scope: "others" });
    expect(await list(second)).toEqual([true]);
  });

  test("are seen by nobody else", async () => {
    await signIn();
    const other = await createPerson(db.sql, `other-${number}@sessions.test`);
    expect(await list(await signInAs(gateway, { email: other.email, password }))).toEqual([true]);
    expect((await anonymousClient(gateway).rpc("my_account")).status).toBe(401);
  });
});
