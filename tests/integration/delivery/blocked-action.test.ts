import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { actionOf, connectApi, defaultActions, defaultNames } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForWorker, minutesLater, moveConversion, readRow, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { callIn, service } from "#tests/fixtures/service.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { readConnection } from "#tests/support/connections.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { whileOpen } from "#tests/support/while-open.ts";

let db: TestDatabase;
let founder: Person;
let team: Team;
let number = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  founder = await createPerson(db.sql, "founder@blocked-action.test");
});
afterAll(() => db.drop());
beforeEach(async () => {
  number += 1;
  team = await createQueueTeam(db.sql, `blocked-action${number}`, founder, "api");
  await connectApi(db.sql, team);
});

const code = "NO_CONVERSION_ACTION_FOUND";
const refusal = { outcome: "FAILED", category: "VALIDATION", code } as const;
const blocking = { outcome: "definite", blockActions: [{ conversionName: defaultNames.seal, code, message: "gone" }] };
const provider = () => ({ p_site_id: team.siteUuid, p_provider_key: "google_ads" });
const otherAction = defaultActions.map((chosen) =>
  chosen.conversionName === defaultNames.seal ? { ...chosen, action: actionOf(77) } : chosen,
);

/** Seals a lead, and Google refuses its conversion action: the row fails, the action is blocked. */
async function findBlocked(): Promise<string> {
  const { id } = await sealLead(db.sql, team);
  const claim = await claimForWorker(db.sql, team, { at: minutesLater(1) });
  await settleClaim(db.sql, team, claim, refusal, { at: minutesLater(2), batch: blocking });
  expect((await readRow(db.sql, id)).status).toBe("FAILED");
  return id;
}
const recordTest = async (passed: string[], more: Record<string, unknown> = {}) => {
  const { version } = await service<{ version: number }>(db.sql, "provider_credentials_for", provider());
  const test = { ...provider(), p_version: version, p_ok: true, p_passed: passed, ...more };
  return service<{ released: number }>(db.sql, "record_provider_test", test, minutesLater(10));
};
const chooseOther = (at = minutesLater(10)) =>
  callAs<{ released: number }>(
    db.sql,
    team.owner,
    (tx) => tx`select public.set_conversion_actions(${team.siteId}, ${tx.json(otherAction)})`,
    at,
  );

// Guarantee: "none is lost" holds for the row that found the broken action, too: whatever ends the block sends it.
// Mutations: take requeue_stopped out of any of the five; ask for stopped_rows after the block has ended.
test.each<[string, () => Promise<{ released: number }>]>([
  ["a passed test", () => recordTest([defaultNames.seal])],
  ["a dry run that passes", () => recordTest([], { p_conversion_name: defaultNames.seal })],
  ["another action", () => chooseOther()],
  ["a new connection with another action", () => connectApi(db.sql, team, { actions: otherAction, at: minutesLater(10) }) as never],
  ["the runbook's release", () => service(db.sql, "release_provider", provider(), minutesLater(10))],
])("%s queues the row that found the action blocked, with a fresh budget", async (_name, end) => {
  const id = await findBlocked();
  expect(await end()).toMatchObject({ released: 1 });
  const row = await readRow(db.sql, id);
  expect(row).toMatchObject({ status: "QUEUED", next_retry_at: null });
  expect(row.attempt_base).toBe(row.attempt_count);
  const [last] = await db.sql`select * from public.queue_transitions where queue_id = ${id} order by id desc limit 1`;
  expect(last).toMatchObject({ from_status: "FAILED", to_status: "QUEUED", reason: "RELEASED" });
  expect((await claimForWorker(db.sql, team, { at: minutesLater(11) })).rows.map((each) => each.id)).toEqual([id]);
});

// Guarantee: the test of the account is no proof of an action that it did not pass.
test.each<[string, () => Promise<{ released: number }>]>([
  ["a test that the action did not pass", () => recordTest([defaultNames.MEETING_BOOKED])],
  ["new access with the same action", () => connectApi(db.sql, team, { at: minutesLater(10) }) as never],
])("%s leaves the row where it is", async (_name, end) => {
  const id = await findBlocked();
  expect(await end()).toMatchObject({ released: 0 });
  expect((await readRow(db.sql, id)).status).toBe("FAILED");
  expect((await readConnection(db.sql, team)).actions.filter(({ blocked }) => blocked)).toHaveLength(1);
});

// Guarantee: a fix of the action sends nothing that a person gave up, that failed for another reason or whose sale was cancelled.
test("a release leaves alone what was given up, what was cancelled, and what Google refused for another reason", async () => {
  const given = await findBlocked();
  const { id: cancelled } = await sealLead(db.sql, team);
  const { id: other } = await sealLead(db.sql, team);
  await recordTest([defaultNames.seal]);
  const claim = await claimForWorker(db.sql, team, { at: minutesLater(11), limit: 100 });
  const answers = claim.rows.map(({ id }) => ({ id, ...refusal, ...(id === other && { code: "INVALID_CURRENCY" }), message: "w" }));
  const settle = {
    p_site_id: team.siteUuid,
    p_token: claim.token,
    p_results: answers,
    p_batch: { provider: "google_ads", ...claim.batch, ...blocking },
  };
  await service(db.sql, "settle_offline_conversion_jobs", settle, minutesLater(12));
  await moveConversion(db.sql, team, { id: given, to: "QUEUED" }, minutesLater(13));
  await moveConversion(db.sql, team, { id: given, to: "FAILED" }, minutesLater(14));
  await change(db.sql, { team }, "cancel_sale", { id: (await readRow(db.sql, cancelled)).sale_id }, { at: minutesLater(15) });
  expect(await chooseOther(minutesLater(20))).toMatchObject({ released: 0 });
  for (const id of [given, cancelled, other]) expect((await readRow(db.sql, id)).status).toBe("FAILED");
});

// Guarantee: an owner who chooses another action in the second in which the old one is refused gets that row back as well.
// Mutation: set_conversion_actions that looks for stopped rows before it holds the connection.
test("another action that is chosen while the refusal is written waits for it, and takes its row along", async () => {
  const { id } = await sealLead(db.sql, team);
  const { token, batch } = await claimForWorker(db.sql, team, { at: minutesLater(1) });
  const settle = {
    p_site_id: team.siteUuid,
    p_token: token,
    p_results: [{ id, ...refusal, message: "gone" }],
    p_batch: { provider: "google_ads", ...batch, ...blocking },
  };
  const chosen = await whileOpen(
    db.sql,
    (tx) => callIn(tx, "settle_offline_conversion_jobs", settle),
    () => chooseOther(),
  );
  expect(chosen).toMatchObject({ released: 1 });
  expect((await readRow(db.sql, id)).status).toBe("QUEUED");
});
