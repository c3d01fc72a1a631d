import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { renderTypes } from "#scripts/render-types.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

// Guarantee: code that compiles calls functions that exist, with the arguments they have.
test("the generated types are what the migrations make", async () => {
  expect(readFileSync("lib/db/types.gen.ts", "utf8"), "run npm run types:generate").toBe(await renderTypes(db.sql));
});
