import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTeam, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createTeam(db.sql, "plans");
});
afterAll(() => db.drop());

function setPlan(site: string, options: Record<string, string>, url = db.adminUrl) {
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const env = { ...process.env, DATABASE_URL: url };
  const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/set-plan.ts", site, ...args], { encoding: "utf8", env });
  return { status, said: stdout + stderr };
}
const standard = { name: "Standard plan", limit: "60000", enforcement: "soft", currency: "TRY" };
const stored = async () => {
  const [row] = await db.sql`
    select p.name, p.monthly_limit::int as limit, p.enforcement, p.currency, p.hard_cap_multiplier::float as cap,
      p.base_price_cents::int as base, p.overage_cents_per_1000::int as overage
    from public.site_plans p where p.site_id = ${team.siteUuid}`;
  return row;
};

// Guarantee: whoever runs a deployment gives a site its plan without writing SQL.
test("a plan is set, and set again", async () => {
  expect(setPlan(team.siteId, { ...standard, "base-cents": "149000", "overage-cents": "3000", cap: "1.5" })).toMatchObject({ status: 0 });
  expect(await stored()).toEqual({ ...standard, limit: 60_000, cap: 1.5, base: 149_000, overage: 3000 });
  expect(setPlan(team.siteId, { ...standard, name: "Free", limit: "none" })).toMatchObject({ status: 0 });
  expect(await stored()).toEqual({ ...standard, name: "Free", limit: null, cap: null, base: 0, overage: 0 });
});

// Guarantee: a slip of the hand changes nothing, and the answer says which option it was.
test.each([
  ["no name", { name: "" }, /--name is empty/],
  ["a limit in words", { limit: "many" }, /--limit/],
  ["a limit of nothing", { limit: "0" }, /--limit/],
  ["another enforcement", { enforcement: "strict" }, /--enforcement/],
  ["a currency in lower case", { currency: "try" }, /--currency/],
  ["a hard plan without a limit", { limit: "none", enforcement: "hard" }, /a hard plan needs a --limit/],
  ["a price with decimals", { "base-cents": "14.90" }, /--base-cents is not whole/],
  ["an option that is none", { price: "5" }, /--price/],
])("%s is refused by name", async (_, change, words) => {
  const before = await stored();
  const { status, said } = setPlan(team.siteId, { ...standard, ...change });
  expect(status).toBe(2);
  expect(said).toMatch(words);
  expect(await stored()).toEqual(before);
});

test("a site that is not there is named, and so is an id that is none", () => {
  expect(setPlan("f".repeat(32), standard)).toMatchObject({ status: 1, said: expect.stringMatching(/has no site f{32}/) });
  expect(setPlan(team.siteUuid, standard)).toMatchObject({ status: 2, said: expect.stringMatching(/32 characters/) });
});

// Guarantee: whoever steals the app's password cannot give a site another price or limit. Mutation: grant set_site_plan to opsmantik_app.
test("the app's own login is refused, and the answer says which login it takes", async () => {
  const before = await stored();
  const { status, said } = setPlan(team.siteId, standard, db.appUrl);
  expect({ status, said }).toEqual({ status: 1, said: expect.stringMatching(/^opsmantik_app may not do this\. .* as its owner/) });
  expect(await stored()).toEqual(before);
});
