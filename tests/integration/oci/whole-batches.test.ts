import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { claimForWorker, minutesLater, sealLead, type WorkerClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import { createPerson, type Person, type Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

/** The one call for a batch that arrived whole: which rows it means, and what it leaves behind. */

let db: TestDatabase;
let owner: Person;
let team: Team;
let teams = 0;
beforeAll(async () => {
  db = await createTestDatabase();
  owner = await createPerson(db.sql, "owner@whole.test");
});
beforeEach(async () => {
  team = await createApiTeam(db.sql, `whole-${++teams}`, owner);
});
afterAll(() => db.drop());

const claim = () => claimForWorker(db.sql, team, { at: minutesLater(1) });
/** An answer to all rows of the claim, or to those named. */
const answer = ({ token, batch }: WorkerClaim, { ids, sent = {} }: { ids?: string[]; sent?: object } = {}) =>
  service(
    db.sql,
    "settle_and_claim_conversion_jobs",
    {
      p_site_id: team.siteUuid,
      p_provider_key: "google_ads",
      p_token: token,
      p_sent: { transport: "ads_api", requestId: "r-1", verdict: "CONFIRMED", ...sent },
      p_batch: { provider: "google_ads", outcome: "success", credentialsVersion: batch.credentialsVersion, durationMs: 5 },
      p_limit: 10,
      ...(ids && { p_ids: ids, p_indexes: [] }),
    },
    minutesLater(5),
  );

// Guarantee: rows that are not named are those of the claim, in the order in which they were handed out: a verdict finds its row by its place.
// Mutation that breaks it: hand out and lease in different orders.
test("without names, its rows are those of the claim, each in its place", async () => {
  for (let made = 0; made < 5; made++) await sealLead(db.sql, team);
  const claimed = await claim();
  const sent = { transport: "data_manager", requestId: "r-in-order", verdict: null };
  expect(await answer(claimed, { sent })).toMatchObject({ completed: 5, left: 0 });
  const delivered = await db.sql`select id from private.queue_delivered where site_id = ${team.siteUuid} order by record_index`;
  expect(delivered.map(({ id }) => id)).toEqual(claimed.rows.map(({ id }) => id));
  const [asked] = await db.sql`select row_ids from public.provider_requests where request_id = 'r-in-order' and site_id = ${team.siteUuid}`;
  expect(asked?.row_ids).toEqual(claimed.rows.map(({ id }) => id));
});

// Guarantee: a batch is finished once, with all its rows. Mutation that breaks it: settle_and_claim without claimed_count.
test("nothing is done for a part of it", async () => {
  for (let made = 0; made < 2; made++) await sealLead(db.sql, team);
  const claimed = await claim();
  expect(await answer(claimed, { ids: claimed.rows.slice(0, 1).map(({ id }) => id) })).toEqual({ completed: 0, left: 1, claim: null });
  expect(await db.sql`select from private.queue_delivered where site_id = ${team.siteUuid}`).toHaveLength(0);
  expect(await answer(claimed)).toMatchObject({ completed: 2, left: 0 });
});

// Guarantee: the statements that name a part of the queue leave rows that the checks of all others let pass.
// Mutation that breaks it: a claim without a name, or a delivery with a token.
test("claimed and delivered rows keep the rules of the queue, and whoever breaks one is refused", async () => {
  const row = await sealLead(db.sql, team);
  const edit = (assignment: string) => db.sql.unsafe(`update public.offline_conversion_queue set ${assignment} where id = '${row.id}'`);
  const claimed = await claim();
  await edit("last_error = null");
  for (const [assignment, rule] of [
    ["claimed_at = null", "processing_rows_have_a_claim"],
    ["claim_token = null, claimed_at = null", "processing_rows_have_a_claim"], // still plain
    ["claim_token = null, claimed_at = null, is_plain = false, tries = 1", "status_is_the_state_and_the_claim"],
    ["claim_token = null, claimed_at = null, is_plain = false, status = state", "tries_are_the_claims_that_ended"],
    ["status = 'QUEUED'", "status_is_the_state_and_the_claim"],
    ["tries = 1", "tries_are_the_claims_that_ended"],
    ["state = 'FAILED', provider_error_code = 'X'", "failed_rows_say_why"],
    ["attempt_base = 2", "attempts_only_grow"],
    ["value_cents = 0", "values_are_sendable"],
    ["by_hand_reason = 'WBRAID_ONLY'", "only_adjustments_are_made_by_hand"],
    ["uploaded_at = now()", "open_rows_were_not_uploaded"],
    ["state = 'COMPLETED', uploaded_at = now(), claim_token = null, claimed_at = null, last_error = 'X'", "completed_rows_are_over"],
  ] as const)
    await expect(edit(assignment), assignment).rejects.toMatchObject({ constraint_name: rule });
  expect(await answer(claimed)).toMatchObject({ completed: 1 });
  await edit("is_retryable = false");
  for (const assignment of ["claim_token = gen_random_uuid()", "last_error = 'X'", "uploaded_at = now()"])
    await expect(edit(assignment), assignment).rejects.toMatchObject({ message: "RECORD_IS_PERMANENT" });
});
