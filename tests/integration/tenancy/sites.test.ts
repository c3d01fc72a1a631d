import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { forceRace } from "#tests/support/force-race.ts";
import { callAs, createPerson, createTeam, type Person, type Team } from "#tests/support/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
let stranger: Person;

beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "harbour");
  stranger = await createPerson(db.sql, "stranger@elsewhere.test");
});
afterAll(() => db.drop());

const create = (person: Person, domains = ["new.test"], timezone = "Europe/London") =>
  callAs<{ publicId: string }>(db.sql, person, (tx) => tx`select public.create_site('New', ${domains}, 'GBP', ${timezone}, 'en')`);

test("an owner may add a site; a member or a stranger may not", async () => {
  expect((await create(team.owner)).publicId).toMatch(/^[0-9a-f]{32}$/);
  for (const person of [team.operator, team.viewer, stranger]) {
    await expect(create(person)).rejects.toMatchObject({ code: "PT403", message: "FORBIDDEN" });
  }
});

// Guarantee: on a fresh installation exactly one person becomes the first owner, even when two try at the same moment.
// Mutation: without the advisory lock in create_site both see an installation without sites.
test("of two first users at once, one makes the first site and the other is refused", async () => {
  const fresh = await createTestDatabase();
  try {
    const [first, second] = [await createPerson(fresh.sql, "first@a.test"), await createPerson(fresh.sql, "second@b.test")];
    const makeFirst = (tx: postgres.TransactionSql) =>
      tx`select public.create_site('First', ${["a.test"]}, 'TRY', 'Europe/Istanbul', 'tr')`;
    const outcome = await forceRace(fresh.sql, first, makeFirst, () => callAs(fresh.sql, second, makeFirst));
    expect(outcome).toMatchObject({ message: "FORBIDDEN" });
    const [count] = await fresh.sql`select count(*)::int as n from public.sites`;
    expect(count?.n).toBe(1);
  } finally {
    await fresh.drop();
  }
});

test.each([
  ["a path is not a domain", ["harbour.test/x"], "Europe/London", "INVALID_DOMAIN"],
  ["an empty label is not a domain", ["a..test"], "Europe/London", "INVALID_DOMAIN"],
  ["upper case is not stored", ["Harbour.test"], "Europe/London", "INVALID_DOMAIN"],
  ["a missing domain is not a domain", [null as unknown as string], "Europe/London", "INVALID_DOMAIN"],
  ["the same domain twice is refused", ["a.test", "a.test"], "Europe/London", "INVALID_DOMAIN"],
  ["an offset is not a time zone", ["harbour.test"], "+03:00", "INVALID_TIMEZONE"],
  ["a zone that browsers do not know is refused", ["harbour.test"], "Factory", "INVALID_TIMEZONE"],
])("%s", async (_name, domains, timezone, code) => {
  await expect(create(team.owner, domains, timezone)).rejects.toMatchObject({ code: "PT400", message: code });
});

// Guarantee: whatever a client sends past our forms, one site's data cannot make everybody's pages unreadable.
test.each(["   ", "", "x".repeat(81), "a\u202eb", "a\nb", "\u200b"])("the name %j is refused by the database itself", async (name) => {
  const make = () =>
    callAs(db.sql, team.owner, (tx) => tx`select public.create_site(${name}, ${["n.test"]}, 'TRY', 'Europe/Istanbul', 'tr')`);
  await expect(make()).rejects.toMatchObject({ code: "PT400", message: "VALIDATION_FAILED" });
});

test("the edges of the site's checks hold", async () => {
  const twenty = Array.from({ length: 20 }, (_, index) => `d${index}.test`);
  await expect(create(team.owner, twenty)).resolves.toBeDefined();
  await expect(create(team.owner, [...twenty, "one-more.test"])).rejects.toMatchObject({ constraint_name: "site_has_1_to_20_domains" });
  await expect(create(team.owner, [])).rejects.toMatchObject({ constraint_name: "site_has_1_to_20_domains" });
});

// Guarantee: nobody can find out which sites exist by trying ids.
test("another's site and an unknown one answer the same", async () => {
  const ask = (publicId: string) => callAs(db.sql, stranger, (tx) => tx`select public.get_site(${publicId})`);
  const answers = await Promise.all([ask(team.publicId), ask("0".repeat(32))].map((answer) => answer.catch((error: unknown) => error)));
  expect(answers[0]).toMatchObject({ code: "PT404", message: "NOT_FOUND" });
  expect(answers[1]).toMatchObject({ code: "PT404", message: "NOT_FOUND" });
});

test("only an owner changes a site", async () => {
  const update = (person: Person) =>
    callAs(
      db.sql,
      person,
      (tx) => tx`select public.update_site(${team.publicId}, 'Harbour 2', ${["h.test"]}, 'EUR', 'Europe/Paris', 'en')`,
    );
  for (const person of [team.operator, team.viewer]) await expect(update(person)).rejects.toMatchObject({ message: "FORBIDDEN" });
  await expect(update(stranger)).rejects.toMatchObject({ message: "NOT_FOUND" });
  await expect(update(team.owner)).resolves.toEqual({ ok: true });
  expect(await callAs(db.sql, team.viewer, (tx) => tx`select public.get_site(${team.publicId})`)).toMatchObject({
    name: "Harbour 2",
    currency: "EUR",
    timezone: "Europe/Paris",
    role: "viewer",
  });
});

test("an archived site refuses changes until it is restored, and is never deleted", async () => {
  const { publicId } = await create(team.owner);
  const archive = (archived: boolean) => callAs(db.sql, team.owner, (tx) => tx`select public.set_site_archived(${publicId}, ${archived})`);
  const addKey = () => callAs(db.sql, team.owner, (tx) => tx`select public.create_site_api_key(${publicId}, 'Script')`);
  await archive(true);
  await expect(addKey()).rejects.toMatchObject({ code: "PT409", message: "SITE_ARCHIVED" });
  await expect(db.sql`delete from public.sites where public_id = ${publicId}`).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT" });
  await expect(db.sql`truncate public.sites cascade`).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT" });
  await archive(false);
  await expect(addKey()).resolves.toHaveProperty("key");
});

test("answers to people never carry the internal id of a site", async () => {
  const answers = await Promise.all([
    callAs(db.sql, team.owner, (tx) => tx`select public.get_site(${team.publicId})`),
    callAs(db.sql, team.owner, (tx) => tx`select public.list_my_sites()`),
    callAs(db.sql, team.owner, (tx) => tx`select public.list_site_members(${team.publicId})`),
    callAs(db.sql, team.owner, (tx) => tx`select public.create_site_api_key(${team.publicId}, 'x')`),
    callAs(db.sql, team.owner, (tx) => tx`select public.list_site_api_keys(${team.publicId})`),
  ]);
  expect(JSON.stringify(answers)).not.toContain(team.siteId);
});
