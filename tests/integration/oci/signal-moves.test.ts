import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newLead } from "#tests/fixtures/leads.ts";
import { minutesLater, sealedAt } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { recordVisit } from "#tests/fixtures/record-visit.ts";
import { callIn, service } from "#tests/fixtures/service.ts";
import { deliverySettings } from "#tests/fixtures/site.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const teams: Team[] = [];
async function newTeam(): Promise<Team> {
  const team = await createQueueTeam(db.sql, `signals-${teams.length}`, teams[0]?.owner);
  teams.push(team);
  await deliverySettings(db.sql, team, { signalsEnabled: true });
  return team;
}
const lead = (team: Team, visitor = "someone") => newLead(db.sql, team, { visitor, at: sealedAt, reporter: "system" });
interface Handed {
  rows: { id: string }[];
}
const claim = async (team: Team, minute: number) => {
  const { rows } = await service<Handed>(
    db.sql,
    "claim_marketing_signals",
    { p_site_id: team.siteUuid, p_limit: 10 },
    minutesLater(minute),
  );
  return rows.map(({ id }) => id);
};
const fail = (team: Team, ids: string[], minute: number, category = "TRANSIENT") =>
  service(
    db.sql,
    "fail_marketing_signals",
    { p_site_id: team.siteUuid, p_ids: ids, p_category: category, p_message: "threw" },
    minutesLater(minute),
  );
const recover = (minute: number) => service(db.sql, "recover_marketing_signals", {}, minutesLater(minute));
const states = async (team: Team): Promise<postgres.Row[]> => {
  const rows = await db.sql`select dispatch_status as status, attempt_count as attempts, last_error as error
    from public.marketing_signals where site_id = ${team.siteUuid} order by created_at`;
  return rows.map((row) => ({ ...row }));
};

const due = 1;

// Guarantee: a signal is in one pair of hands at a time, as a conversion is.
test("two scripts at once share no signal", async () => {
  const team = await newTeam();
  await lead(team);
  await db.sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${minutesLater(due).toISOString()}, true)`;
    const { rows } = await callIn<Handed>(tx, "claim_marketing_signals", { p_site_id: team.siteUuid, p_limit: 10 });
    expect(rows).toHaveLength(1);
    expect(await claim(team, due)).toEqual([]); // while the first has not committed
  });
  expect(await claim(team, due)).toEqual([]);
  expect(await states(team)).toEqual([{ status: "PROCESSING", attempts: 1, error: null }]);
});

test("news of a failure answer the same when they come twice, and of another site change nothing", async () => {
  const team = await newTeam();
  const other = await newTeam();
  await lead(team);
  const ids = await claim(team, due);
  expect(await fail(other, ids, due)).toEqual({ updated: 0, refused: ids, reasons: {} });
  expect(await fail(team, ids, due)).toEqual({ updated: 1, refused: [], reasons: {} });
  expect(await fail(team, ids, due)).toEqual({ updated: 1, refused: [], reasons: {} });
  expect(await states(team)).toEqual([{ status: "PENDING", attempts: 1, error: "threw" }]);
  expect(await claim(team, due + 1)).toEqual([]); // not before its next try
  expect(await claim(team, due + 3)).toEqual(ids);
});

test("what nobody answered for waits again after a quarter of an hour, until its attempts are used up", async () => {
  const team = await newTeam();
  await lead(team);
  for (let attempt = 1; attempt <= 5; attempt++) {
    const at = due + attempt * 30;
    expect(await claim(team, at)).toHaveLength(1);
    await recover(at + 14);
    expect(await states(team)).toMatchObject([{ status: "PROCESSING", attempts: attempt }]);
    await recover(at + 16);
  }
  expect(await states(team)).toEqual([{ status: "FAILED", attempts: 5, error: "MAX_ATTEMPTS_EXCEEDED" }]);
});

// Mutation that breaks it: drop marketing_consent from recover_marketing_signals.
test("a visitor who withdraws consent while the signal is away ends it when it comes back", async () => {
  const team = await newTeam();
  await lead(team, "withdraws");
  const ids = await claim(team, due);
  await recordVisit(db.sql, team.siteUuid, "withdraws", [
    { at: minutesLater(due + 1), url: "https://signals.test/", marketingConsent: false },
  ]);
  await fail(team, ids, due + 2);
  expect(await claim(team, due + 60)).toEqual([]);
  await recover(due + 60);
  expect(await states(team)).toEqual([{ status: "FAILED", attempts: 1, error: "NO_CONSENT" }]);
});

test("a click that Google takes no more ends its signal", async () => {
  const team = await newTeam();
  await lead(team);
  await recover(90 * 24 * 60 - 1);
  expect(await states(team)).toMatchObject([{ status: "PENDING" }]);
  await recover(90 * 24 * 60 + 1);
  expect(await states(team)).toEqual([{ status: "FAILED", attempts: 0, error: "CLICK_EXPIRED" }]);
});
