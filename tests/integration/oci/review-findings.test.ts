import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { defaultNames } from "#tests/support/connections.ts";
import { claimForWorker, createApiTeam, minutesLater, readRow, sealLead, service, settleClaim } from "#tests/support/queue.ts";
import { callAs, createPerson, type Person, type Team } from "#tests/support/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let owner: Person;
let team: Team;
let sites = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  owner = await createPerson(db.sql, "owner@review.test");
});
beforeEach(async () => {
  team = await createApiTeam(db.sql, `review-${++sites}`, owner);
});
afterAll(() => db.drop());

const _recover = (minute: number) =>
  service(db.sql, "recover_stuck_offline_conversion_jobs", { p_min_age_minutes: 15 }, minutesLater(minute));
const _chooseSealAction = (action: string) =>
  callAs(
    db.sql,
    team.owner,
    (tx) => tx`select public.set_conversion_actions(${team.publicId},
    ${tx.json([{ conversionName: defaultNames.seal, action }])})`,
  );
const claimAt = (minute: number) => claimForWorker(db.sql, team, { at: minutesLater(minute) });

// Guarantee: Google being away for an hour costs no sale. The circuit opens before rows are given up, not with them.
test("a provider that is away for an hour of runs fails no row for good", async () => {
  const { id } = await sealLead(db.sql, team);
  for (let minute = 1; minute <= 61; minute += 10) {
    const claimed = await claimAt(minute);
    if (claimed.rows.length === 0) continue;
    const thrown = { outcome: "RETRY", category: "TRANSIENT", words: "503" } as const;
    await settleClaim(db.sql, team, claimed, thrown, { at: minutesLater(minute), batch: { outcome: "transient" } });
  }
  expect((await readRow(db.sql, id)).status).toBe("RETRY");
});
