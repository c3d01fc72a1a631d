import { access, readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sealLead } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { createPerson, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
let runbook: string;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createApiTeam(db.sql, "runbook", await createPerson(db.sql, "owner@runbook.test"));
  await sealLead(db.sql, team);
  runbook = await readFile("docs/OPS/PROVIDERS_UPLOAD.md", "utf8");
});
afterAll(() => db.drop());

/** The statements of every block of SQL, without their comments. */
const statements = () =>
  [...runbook.matchAll(/^( *)```sql\n(.*?)^ *```/gms)].flatMap(([, , block = ""]) =>
    block
      .replaceAll(/--.*$/gm, "")
      .split(";")
      .map((statement) => statement.trim())
      .filter(Boolean),
  );

// Guarantee: whoever works by the runbook in the night does not meet a column or a function that has another name by now.
test("every statement of the runbook runs", async () => {
  expect(statements().length).toBeGreaterThan(15);
  for (const statement of statements()) {
    const given = statement.replaceAll(":site", `'${team.siteUuid}'`).replaceAll("<batch>", team.siteUuid);
    await expect(db.sql.unsafe(given), statement).resolves.toBeDefined();
  }
});

test("every route that the runbook calls is there", async () => {
  const routes = new Set([...runbook.matchAll(/\/api\/cron\/[a-z/-]+/g)].map(([path]) => path));
  expect(routes.size).toBeGreaterThan(4);
  for (const route of routes) await access(`app${route}/route.ts`);
});
