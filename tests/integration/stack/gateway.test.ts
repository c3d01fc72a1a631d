import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPerson } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { anonymousClient, signInAs, startTestGateway, type TestGateway } from "#tests/support/test-gateway.ts";

let database: TestDatabase;
let gateway: TestGateway;
const ada = { email: "ada@example.com", password: "correct horse battery", name: "Ada" };

beforeAll(async () => {
  database = await createTestDatabase();
  await database.sql.unsafe(`
    create table public.secrets_of_ours (id int primary key);
    revoke all on public.secrets_of_ours from anon, authenticated, service_role;
    create table public.own_rows (id int primary key, owner uuid not null);
    alter table public.own_rows enable row level security;
    create policy own_rows_only on public.own_rows for select to authenticated using (owner = auth.uid());
    grant select on public.own_rows to authenticated;
    create function public.kind_of_json(p jsonb) returns text language sql as 'select jsonb_typeof(p)';
    create function public.refuse() returns void language plpgsql as $$
      begin raise exception using errcode = 'PT409', message = 'SITE_ARCHIVED', detail = '{"a":1}', hint = 'Unarchive it.'; end $$;
    grant execute on function public.kind_of_json, public.refuse to anon;
  `);
  gateway = await startTestGateway(database.adminUrl);
});
afterAll(async () => {
  await gateway?.stop();
  await database?.drop();
});

describe("roles", () => {
  // Guarantee: the gateway neither runs as the owner nor hands out grants; otherwise every revoke in our migrations
  // would be undone locally and the grants tests would prove nothing.
  test("a revoked table stays revoked, and calling it changes no grant", async () => {
    const grants = () => database.sql`select relname, relacl::text from pg_class where relnamespace = 'public'::regnamespace order by 1`;
    const before = await grants();
    const { id: userId } = await createPerson(database.sql, ada.email, ada);
    const asUser = await signInAs(gateway, ada);

    const anonymous = await anonymousClient(gateway).from("secrets_of_ours").select();
    const signedIn = await asUser.from("secrets_of_ours").select();
    expect([anonymous.status, signedIn.status]).toEqual([401, 403]);

    await database.sql`insert into public.own_rows values (1, ${userId}), (2, gen_random_uuid())`;
    expect((await asUser.from("own_rows").select("id")).data).toEqual([{ id: 1 }]);
    expect(await grants()).toEqual(before);
  });

  // Guarantee: in admin mode a keyless request from this machine would be the service role, and RLS tests would pass falsely.
  test("a request without a key is nobody", async () => {
    const response = await fetch(`${gateway.url}/rest/v1/own_rows`);
    expect(response.status).toBe(401);
  });
});

describe("values", () => {
  // Guarantee: a function that reads a jsonb argument sees the object that was sent, not a string around it.
  test("a jsonb argument is never encoded twice", async () => {
    const client = anonymousClient(gateway);
    expect((await client.rpc("kind_of_json", { p: { a: 1 } })).data).toBe("object");
    expect((await client.rpc("kind_of_json", { p: [1, 2] })).data).toBe("array");
  });

  // Guarantee: an error raised by our SQL reaches the app whole, so that it can be told to a person.
  test("an error of ours keeps its code, message, details and hint", async () => {
    const { error, status } = await anonymousClient(gateway).rpc("refuse");
    expect(status).toBe(409);
    expect(error).toMatchObject({ code: "PT409", message: "SITE_ARCHIVED", details: '{"a":1}', hint: "Unarchive it." });
  });

  // Guarantee: what a migration adds is reachable after clearing the cache; the demo would otherwise answer 404.
  test("a function made after the first request is found once the cache is cleared", async () => {
    const client = anonymousClient(gateway);
    await client.rpc("kind_of_json", { p: {} });
    await database.sql.unsafe(`
      create function public.newcomer() returns int language sql as 'select 7';
      grant execute on function public.newcomer to anon;`);
    gateway.clearSchemaCache();
    expect((await client.rpc("newcomer")).data).toBe(7);
  });
});

describe("mail", () => {
  async function newestMail(to: string) {
    const mails: { to: string; link: string; subject: string }[] = await (await fetch(`${gateway.mailUrl}?format=json`)).json();
    return mails.find((mail) => mail.to === to);
  }

  // Guarantee: the links in mails lead to the app and work there, once; nobody is locked out of a forgotten password.
  test.each([
    ["recovery", (email: string) => anonymousClient(gateway).auth.resetPasswordForEmail(email)],
    ["magiclink", (email: string) => anonymousClient(gateway).auth.signInWithOtp({ email })],
  ] as const)("a %s link signs in once and never twice", async (type, request) => {
    const email = `${type}@example.com`;
    await createPerson(database.sql, email, ada);
    expect((await request(email)).error).toBeNull();
    const link = new URL((await newestMail(email))?.link ?? "");
    expect(`${link.origin}${link.pathname}`).toBe("http://localhost:3000/auth/confirm");
    expect(link.searchParams.get("type")).toBe(type);

    const token = { type, token_hash: link.searchParams.get("token_hash") ?? "" };
    const first = await anonymousClient(gateway).auth.verifyOtp(token);
    expect(first.data.user?.email).toBe(email);
    expect((await anonymousClient(gateway).auth.verifyOtp(token)).error).not.toBeNull();
  });

  test("the mailbox page lists the newest mail with a link to click", async () => {
    await createPerson(database.sql, "page@example.com", ada);
    await anonymousClient(gateway).auth.resetPasswordForEmail("page@example.com");
    const page = await (await fetch(gateway.mailUrl)).text();
    expect(page).toContain("page@example.com");
    expect(page).toMatch(/<a href="http:\/\/localhost:3000\/auth\/confirm\?token_hash=/);
  });
});
