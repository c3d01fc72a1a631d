import type postgres from "postgres";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SiteId } from "#lib/site.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { createPerson, createTeam, type Person, type Team } from "#tests/fixtures/team.ts";
import { forceRace } from "#tests/support/force-race.ts";
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
  callAs<{ siteId: SiteId }>(db.sql, person, (tx) => tx`select public.create_site('New', ${domains}, 'GBP', ${timezone}, 'en', 'off')`);

test("an owner may add a site; a member or a stranger may not", async () => {
  expect((await create(team.owner)).siteId).toMatch(/^[0-9a-f]{32}$/);
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
      tx`select public.create_site('First', ${["a.test"]}, 'TRY', 'Europe/Istanbul', 'tr', 'off')`;
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

// Guarantee: whether visitors are asked before anything is stored is decided by the owner, never by us.
test.each([null, "", "on"])("a new site with the consent mode %j is refused: there is no default", async (mode) => {
  const made = callAs(
    db.sql,
    team.owner,
    (tx) => tx`select public.create_site('N', ${["n.test"]}, 'TRY', 'Europe/Istanbul', 'tr', ${mode})`,
  );
  await expect(made).rejects.toMatchObject({ message: "VALIDATION_FAILED", detail: '{"field": "consentMode"}' });
});

test("the chosen consent mode is kept, and its later changes are in the activity log", async () => {
  const ask = (tx: postgres.TransactionSql) =>
    tx`select public.create_site('N', ${["n.test"]}, 'TRY', 'Europe/Istanbul', 'tr', 'required')`;
  const { siteId } = await callAs<{ siteId: SiteId }>(db.sql, team.owner, ask);
  const site = () => callAs<{ consentMode: string }>(db.sql, team.owner, (tx) => tx`select public.get_site(${siteId})`);
  expect((await site()).consentMode).toBe("required");
  await callAs(db.sql, team.owner, (tx) => tx`select public.set_site_privacy(${siteId}, 'off', false)`);
  const { entries } = await callAs<{ entries: Record<string, unknown>[] }>(
    db.sql,
    team.owner,
    (tx) => tx`select public.list_activity(${siteId})`,
  );
  expect(entries).toMatchObject([
    { kind: "consent", from: "required", to: "off" },
    { kind: "site", to: "created" },
  ]);
});

// Guarantee: whatever a client sends past our forms, one site's data cannot make everybody's pages unreadable.
test.each(["   ", "", "x".repeat(81), "a\u202eb", "a\nb", "\u200b"])("the name %j is refused by the database itself", async (name) => {
  const make = () =>
    callAs(db.sql, team.owner, (tx) => tx`select public.create_site(${name}, ${["n.test"]}, 'TRY', 'Europe/Istanbul', 'tr', 'off')`);
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
  const ask = (siteId: SiteId) => callAs(db.sql, stranger, (tx) => tx`select public.get_site(${siteId})`);
  const answers = await Promise.all(
    [ask(team.siteId), ask("0".repeat(32) as SiteId)].map((answer) => answer.catch((error: unknown) => error)),
  );
  expect(answers[0]).toMatchObject({ code: "PT404", message: "NOT_FOUND" });
  expect(answers[1]).toMatchObject({ code: "PT404", message: "NOT_FOUND" });
});

test("only an owner changes a site", async () => {
  const update = (person: Person) =>
    callAs(
      db.sql,
      person,
      (tx) => tx`select public.update_site(${team.siteId}, 'Harbour 2', ${["h.test"]}, 'EUR', 'Europe/Paris', 'en', 12000)`,
    );
  for (const person of [team.operator, team.viewer]) await expect(update(person)).rejects.toMatchObject({ message: "FORBIDDEN" });
  await expect(update(stranger)).rejects.toMatchObject({ message: "NOT_FOUND" });
  await expect(update(team.owner)).resolves.toEqual({ ok: true });
  expect(await callAs(db.sql, team.viewer, (tx) => tx`select public.get_site(${team.siteId})`)).toMatchObject({
    name: "Harbour 2",
    currency: "EUR",
    timezone: "Europe/Paris",
    role: "viewer",
  });
});

// Guarantee: money in a currency that does not exist is stored nowhere, so it cannot be sent to Google.
test.each(["ZZZ", "XXX", "try", "TL", ""])("the currency %j is refused wherever one is set", async (currency) => {
  const refused = { code: "PT400", message: "INVALID_CURRENCY" };
  const made = callAs(
    db.sql,
    team.owner,
    (tx) => tx`select public.create_site('N', ${["n.test"]}, ${currency}, 'Europe/London', 'en', 'off')`,
  );
  await expect(made).rejects.toMatchObject(refused);
  await expect(inCurrency(currency, 12_000)).rejects.toMatchObject(refused);
  await expect(db.sql`select public.set_site_plan(${team.siteId}, 'Plan', 10, 'soft', ${currency})`).rejects.toMatchObject(refused);
  await expect(db.sql`update public.sites set currency = ${currency}`).rejects.toMatchObject({ constraint_name: "currency_is_iso_4217" });
});

const inCurrency = (currency: string, averageOrderCents: number | null, name = "Harbour") => {
  const update = (tx: postgres.TransactionSql) =>
    tx`select public.update_site(${team.siteId}, ${name}, ${["h.test"]}, ${currency}, 'Europe/Paris', 'en', ${averageOrderCents})`;
  return callAs(db.sql, team.owner, update);
};
const storedOrder = async () =>
  (await db.sql`select currency, default_aov_cents::int as cents from public.sites where public_id = ${team.siteId}`).map((r) => ({
    ...r,
  }));

describe("another currency", () => {
  // Guarantee: an average order of 3,100 lira does not become one of 3,100 dollars.
  test("needs the average order in it, in the same change", async () => {
    await inCurrency("TRY", 310_000);
    const refusal = await inCurrency("USD", null).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "PT400", message: "VALIDATION_FAILED", detail: '{"field": "defaultAovCents"}' });
    expect(await storedOrder()).toEqual([{ currency: "TRY", cents: 310_000 }]);
    await inCurrency("USD", 9_000);
    expect(await storedOrder()).toEqual([{ currency: "USD", cents: 9_000 }]);
    await inCurrency("USD", null, "Harbour 3"); // the same currency needs none
    expect(await storedOrder()).toEqual([{ currency: "USD", cents: 9_000 }]);
  });

  test.each([
    ["of nothing", "EUR", 0],
    ["of a tenth of a yen", "JPY", 1050],
    ["beyond a thousand million", "EUR", 100_000_000_001],
  ])("with an average order %s is refused", async (_name, currency, cents) => {
    await expect(inCurrency(currency, cents)).rejects.toMatchObject({ code: "PT400", message: "INVALID_AMOUNT" });
  });

  // Guarantee: an owner whose page still shows the old currency does not bring it back without its average order. Mutation: without the
  // row's lock the second compares with the currency from before, and stores lira with an average order in euros.
  test("is noticed by an owner who saves the old one at the same moment", async () => {
    await inCurrency("TRY", 310_000);
    const second = await forceRace(
      db.sql,
      team.owner,
      (tx) => tx`select public.update_site(${team.siteId}, 'Harbour', ${["h.test"]}, 'EUR', 'Europe/Paris', 'en', 8000)`,
      () => inCurrency("TRY", null, "Renamed"),
    );
    expect(second).toMatchObject({ message: "VALIDATION_FAILED", detail: '{"field": "defaultAovCents"}' });
    expect(await storedOrder()).toEqual([{ currency: "EUR", cents: 8_000 }]);
  });
});

test("an archived site refuses changes until it is restored, and is never deleted", async () => {
  const { siteId } = await create(team.owner);
  const archive = (archived: boolean) => callAs(db.sql, team.owner, (tx) => tx`select public.set_site_archived(${siteId}, ${archived})`);
  const addKey = () => callAs(db.sql, team.owner, (tx) => tx`select public.create_site_api_key(${siteId}, 'Script')`);
  await archive(true);
  await expect(addKey()).rejects.toMatchObject({ code: "PT409", message: "SITE_ARCHIVED" });
  await expect(db.sql`delete from public.sites where public_id = ${siteId}`).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT" });
  await expect(db.sql`truncate public.sites cascade`).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT" });
  await archive(false);
  await expect(addKey()).resolves.toHaveProperty("key");
});

test("answers to people never carry the internal id of a site", async () => {
  const answers = await Promise.all([
    callAs(db.sql, team.owner, (tx) => tx`select public.get_site(${team.siteId})`),
    callAs(db.sql, team.owner, (tx) => tx`select public.list_my_sites()`),
    callAs(db.sql, team.owner, (tx) => tx`select public.list_site_members(${team.siteId})`),
    callAs(db.sql, team.owner, (tx) => tx`select public.create_site_api_key(${team.siteId}, 'x')`),
    callAs(db.sql, team.owner, (tx) => tx`select public.list_site_api_keys(${team.siteId})`),
  ]);
  expect(JSON.stringify(answers)).not.toContain(team.siteUuid);
});
