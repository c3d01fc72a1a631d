import type { SupabaseClient } from "@supabase/supabase-js";
import type postgres from "postgres";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createKey } from "#tests/fixtures/site.ts";
import { createPerson, createTeam, join, type Person, password, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { signInAs, startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let db: TestDatabase;
let gateway: TestGateway;
let team: Team;
let keyId: string;
let client: SupabaseClient;

beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "fresh");
  gateway = await startTestGateway(db.adminUrl);
  keyId = (await createKey(db.sql, team, ["sales", "calls"])).id;
});
afterAll(async () => {
  await gateway?.stop();
  await db?.drop();
});
const signIn = (person: Person) => signInAs(gateway, { email: person.email, password });
beforeEach(async () => {
  client = await signIn(team.owner);
});

/** Everybody's sign-in was so many minutes ago. */
const age = (minutes: number) => db.sql`update auth.sessions set created_at = now() - make_interval(mins => ${minutes})`;
const makeKey = (as = client) => as.rpc("create_site_api_key", { p_public_id: team.siteId, p_name: "Mine" });

const connection = { keyId: "00000000", sealed: "c2VhbGVkIGJ5IG5vYm9keQ==", account: {} };
const changes: [string, () => Record<string, unknown>][] = [
  ["create_site_api_key", () => ({ p_name: "Thief" })],
  ["narrow_site_api_key", () => ({ p_key_id: keyId, p_scopes: ["sales"] })],
  ["revoke_site_api_key", () => ({ p_key_id: keyId })],
  ["change_member_role", () => ({ p_user_id: team.viewer.id, p_role: "owner" })],
  ["invite_site_member", () => ({ p_email: "thief@elsewhere.test", p_role: "owner" })],
  ["remove_member", () => ({ p_user_id: team.operator.id })],
  ["replace_call_event_secret", () => ({ p_key_id: "k1", p_sealed: "sealed" })],
  ["connect_provider", () => ({ p_connection: connection })],
  ["disconnect_provider", () => ({})],
  ["set_site_retention", () => ({ p_personal_months: 4 })],
];

describe("a session that was stolen yesterday", () => {
  // Guarantee: whoever copies a session cookie cannot turn it into access that outlives it.
  test.each(changes)("%s is refused after 15 minutes, and changes nothing", async (name, args) => {
    const counts = () => db.sql`select (select count(*) from public.transition_proofs) as acts,
      (select jsonb_agg(x order by x.site_id) from private.site_secrets x) as secrets`;
    const before = await counts();
    await age(16);
    const { error, status } = await client.rpc(name, { p_public_id: team.siteId, ...args() });
    expect([status, error?.message]).toEqual([403, "SIGN_IN_AGAIN"]);
    expect(await counts()).toEqual(before);
  });

  test("14 minutes are recent enough", async () => {
    await age(14);
    expect((await makeKey()).error).toBeNull();
  });

  // Guarantee: the browser refreshes its token every hour by itself; that proves nothing about who sits there.
  test("a refreshed token is no new sign-in", async () => {
    await age(16);
    const { data, error } = await client.auth.refreshSession();
    expect([error, data.session?.access_token === undefined]).toEqual([null, false]);
    expect((await makeKey()).error?.message).toBe("SIGN_IN_AGAIN");
  });

  test("signing in again opens it, in the new session only", async () => {
    await age(16);
    const again = await signIn(team.owner);
    expect((await makeKey(again)).error).toBeNull();
    expect((await makeKey()).error?.message).toBe("SIGN_IN_AGAIN");
  });

  test("a copied token of a session that was signed out is refused, however young", async () => {
    const { data } = await client.auth.getSession();
    await client.auth.signOut({ scope: "local" });
    const stolen = await fetch(`${gateway.url}/rest/v1/rpc/create_site_api_key`, {
      method: "POST",
      headers: {
        ...{ apikey: gateway.publishableKey, authorization: `Bearer ${data.session?.access_token}` },
        "content-type": "application/json",
      },
      body: JSON.stringify({ p_public_id: team.siteId, p_name: "Thief" }),
    });
    expect([stolen.status, (await stolen.json()).message]).toEqual([403, "SIGN_IN_AGAIN"]);
  });
});

test("the role is judged first: an old session learns nothing about sites and roles", async () => {
  const [viewer, stranger] = [await signIn(team.viewer), await signIn(await createPerson(db.sql, "stranger@fresh.test"))];
  await age(16);
  expect((await makeKey(viewer)).error?.message).toBe("FORBIDDEN");
  expect((await makeKey(stranger)).error?.message).toBe("NOT_FOUND");
});

test("daily work and leaving a site ask for nothing", async () => {
  const leaver = await createPerson(db.sql, "leaver@fresh.test");
  await join(db.sql, team, leaver, "operator");
  const asLeaver = await signIn(leaver);
  await age(60 * 24);
  expect(
    (await client.rpc("set_site_privacy", { ...site(), p_consent_mode: "required", p_respects_privacy_signal: true })).error,
  ).toBeNull();
  expect((await client.rpc("list_site_api_keys", site())).error).toBeNull();
  expect((await asLeaver.rpc("remove_member", { ...site(), p_user_id: leaver.id })).error).toBeNull();
});
const site = () => ({ p_public_id: team.siteId });

// A token without a session: hosted Supabase says in amr when and how it was authenticated.
test.each([
  ["a password a minute ago", [{ method: "password", timestamp: -60 }], null],
  ["a password 16 minutes ago", [{ method: "password", timestamp: -960 }], "SIGN_IN_AGAIN"],
  ["a refresh a minute ago", [{ method: "token_refresh", timestamp: -60 }], "SIGN_IN_AGAIN"],
  ["nothing", undefined, "SIGN_IN_AGAIN"],
])("without a session, amr decides: %s", async (_name, given, refusal) => {
  const now = Math.floor(Date.now() / 1000);
  const amr = given?.map((one) => ({ ...one, timestamp: now + one.timestamp }));
  const made = db.sql.begin(async (tx: postgres.TransactionSql) => {
    await tx`select set_config('request.jwt.claims', ${JSON.stringify({ sub: team.owner.id, role: "authenticated", amr })}, true)`;
    await tx`select set_config('role', 'authenticated', true)`;
    await tx`select public.create_site_api_key(${team.siteId}, 'Key')`;
  });
  if (refusal) await expect(made).rejects.toMatchObject({ message: refusal });
  else await made;
});
