import { afterAll, beforeAll, expect, test } from "vitest";
import type { UsageOrigins } from "#lib/billing/billing-shapes.ts";
import { seedBilling } from "#scripts/local/demo/seed-billing.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { createTeam } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

// Guarantee: whoever opens the demo's billing page sees where its unusual day came from, not that it will be known later.
test("the demo's unusual day is stored: each of its units has a range and a browser", async () => {
  const team = await createTeam(db.sql, "demo");
  await seedBilling(db.sql, [{ siteId: team.siteId, domain: "demo.test" }]);
  const origins = await callAs<UsageOrigins>(db.sql, team.owner, (tx) => tx`select public.list_usage_origins(${team.siteId})`);
  expect(origins).toMatchObject({ isUnusual: true, waiting: 0 });
  expect(origins.origins[0]).toEqual({ network: "203.0.113.0/24", browser: "other", units: 240 });
  expect(origins.origins.length).toBeGreaterThan(3);
});
