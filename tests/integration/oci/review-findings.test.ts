import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { actionOf, defaultNames } from "#tests/support/connections.ts";
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

const recover = (minute: number) =>
  service(db.sql, "recover_stuck_offline_conversion_jobs", { p_min_age_minutes: 15 }, minutesLater(minute));
const chooseSealAction = (action: string) =>
  callAs(
    db.sql,
    team.owner,
    (tx) => tx`select public.set_conversion_actions(${team.publicId},
    ${tx.json([{ conversionName: defaultNames.seal, action }])})`,
  );
const claimAt = (minute: number) => claimForWorker(db.sql, team, { at: minutesLater(minute) });

// Guarantee: a dry run is about the row as a worker would be handed it now (as conversion_job says).
test("a dry run asks about the action that the row would go to", async () => {
  const { id } = await sealLead(db.sql, team);
  await claimAt(1);
  await recover(20);
  await chooseSealAction(actionOf(77));
  const asked = await service<{ conversionAction: string }>(
    db.sql,
    "conversion_job",
    { p_site_id: team.siteId, p_id: id },
    minutesLater(21),
  );
  const claimed = await claimAt(21);
  expect(asked.conversionAction).toBe(claimed.rows[0]?.conversionAction);
});

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
