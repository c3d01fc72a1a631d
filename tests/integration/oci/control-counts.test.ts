import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { seededRandom } from "#scripts/local/seeded-random.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { change } from "#tests/fixtures/leads.ts";
import { type Claimed, claimForScript, minutesLater, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { rowsIn, startingStates } from "#tests/fixtures/rows-in.ts";
import { callIn, service } from "#tests/fixtures/service.ts";
import { handOver, type Team } from "#tests/fixtures/team.ts";
import { act, controlAt, readStats } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createQueueTeam(db.sql, "counts");
});
afterAll(() => db.drop());

/** What the queue itself says, counted row by row. */
async function fullCount(sql: postgres.Sql) {
  return sql`select site_id, provider_key, status, currency, case status when 'FAILED' then provider_error_code else '' end as code,
      case status when 'FAILED' then provider_error_category else '' end as category, count(*)::text as n, sum(value_cents)::text as cents
    from public.offline_conversion_queue group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6`;
}
async function keptCount(sql: postgres.Sql) {
  return sql`select s.id as site_id, t.provider_key, t.status, t.currency, t.code, t.category, t.row_count::text as n, t.value_cents::text as cents
    from public.sites s cross join lateral private.queue_totals(array[s.id]) t order by 1, 2, 3, 4, 5, 6`;
}
const plain = (rows: readonly postgres.Row[]) => rows.map((row) => ({ ...row }));

// The test command moves rows a few hundred times; OPSMANTIK_FAULT=full makes it 10,000.
const rounds = process.env.OPSMANTIK_FAULT === "full" ? 10_000 : 300;

// Guarantee: the figures on the screen are the queue's own, whatever happened to it and whenever they are folded.
// Mutation: a trigger that forgets the old rows, or a fold that drops a line, fails here.
test(`after ${rounds} random moves the kept counts equal a full count`, { timeout: 1_200_000 }, async () => {
  const random = seededRandom(7);
  const rows: string[] = [];
  const sales: string[] = [];
  const pick = (from: string[], count: number) => Array.from({ length: count }, () => from[Math.floor(random() * from.length)] ?? "");
  const about = (ids: string[]) => ({ p_site_id: team.siteUuid, p_ids: [...new Set(ids)] });
  for (let made = 0; made < 40; made++) {
    const { id, saleId } = await sealLead(db.sql, team, { amountCents: 100 + Math.floor(random() * 100_000) });
    rows.push(id);
    sales.push(saleId);
  }
  const codes = ["APPLY_FAILED", "INVALID_TIME", "UNPARSEABLE_GCLID"];
  const moves: ((at: Date) => Promise<unknown>)[] = [
    (at) => claimForScript(db.sql, team, pick(rows, 8), at),
    (at) => claimForScript(db.sql, team, pick(rows, 3), at),
    (at) => service(db.sql, "ack_offline_conversions", about(pick(rows, 1)), at),
    (at) =>
      service(
        db.sql,
        "fail_offline_conversions",
        { ...about(pick(rows, 4)), p_code: pick(codes, 1)[0], p_category: random() < 0.5 ? "TRANSIENT" : "VALIDATION", p_message: "w" },
        at,
      ),
    (at) => service(db.sql, "recover_stuck_offline_conversion_jobs", {}, at),
    (at) => service(db.sql, "oci_attempt_cap", {}, at),
    (at) => act(db.sql, { action: "RETRY_SELECTED", ids: pick(rows, 5) }, { team, at }),
    (at) => act(db.sql, { action: "RESET_TO_QUEUED", ids: pick(rows, 3), clearErrors: true }, { team, at }),
    (at) => act(db.sql, { action: "MARK_FAILED", ids: pick(rows, 2) }, { team, at }),
    (at) => change(db.sql, { team }, "correct_sale", { id: pick(sales, 1)[0], amountCents: 100 + Math.floor(random() * 100_000) }, { at }),
    (at) => service(db.sql, "fold_queue_counts", {}, at),
  ];
  for (let round = 0; round < rounds; round++) {
    await moves[Math.floor(random() * moves.length)]?.(minutesLater(round));
    if (round % 50 === 0) expect(plain(await keptCount(db.sql)), `round ${round}`).toEqual(plain(await fullCount(db.sql)));
  }
  expect(plain(await keptCount(db.sql))).toEqual(plain(await fullCount(db.sql)));
  expect(await service(db.sql, "reconcile_queue_counts", {}, minutesLater(rounds))).toMatchObject({ drift: 0 });
  const kept = await db.sql`select o.outcome, o.code, sum(o.row_count)::text as n
    from public.sites s cross join lateral private.outcomes_since(s.id, '-infinity') o group by 1, 2 order by 1, 2`;
  const written =
    await db.sql`select to_status as outcome, case to_status when 'FAILED' then provider_error_code else '' end as code, count(*)::text as n
    from public.queue_transitions where to_status in ('COMPLETED', 'FAILED', 'RETRY') and from_status <> to_status group by 1, 2 order by 1, 2`;
  expect(plain(kept), "what the charts count").toEqual(plain(written));
});

test("the figures of a site", async () => {
  const fresh = await createQueueTeam(db.sql, "figures", team.owner);
  for (const state of startingStates) await rowsIn(db.sql, fresh, state, 2, 5_000);
  const [cancelled] = await rowsIn(db.sql, fresh, "QUEUED", 1, 900);
  await change(db.sql, { team: fresh }, "cancel_sale", { id: cancelled?.saleId }, { at: minutesLater(3) });
  const [sold] =
    await db.sql`select sale_id from public.offline_conversion_queue where site_id = ${fresh.siteUuid} and status = 'COMPLETED' limit 1`;
  await change(db.sql, { team: fresh }, "correct_sale", { id: sold?.sale_id, amountCents: 4_000 }, { at: minutesLater(5) });
  const stats = await readStats(db.sql, fresh);
  expect(stats).toMatchObject({
    siteId: fresh.siteId,
    scope: "site",
    totals: { QUEUED: 3, RETRY: 2, PROCESSING: 2, COMPLETED: 2, FAILED: 3 },
    stuckProcessing: 0,
    valueWaitingCents: { TRY: 24_000 },
    failedRatio: 0.5, // 2 of 4: the cancelled sale was skipped on purpose and is no failure
    mainCause: { code: "FAILED_CODE", category: "VALIDATION", count: 2 },
    failedCauses: [
      { code: "FAILED_CODE", category: "VALIDATION", count: 2 },
      { code: "SALE_CANCELLED", category: "DETERMINISTIC_SKIP", count: 1 },
    ],
    waitingByHand: 1,
    circuit: null,
    lastRun: null,
  });
  expect(new Date(String(stats.oldestWaitingAt))).toEqual(minutesLater(0));
  expect(new Date(String(stats.lastUpdatedAt))).toEqual(minutesLater(39));
  expect(stats.perProvider).toMatchObject([{ provider: "google_ads", totals: stats.totals, blocked: null, circuit: null }]);
  expect((await readStats(db.sql, fresh, minutesLater(60))).stuckProcessing).toBe(2);
});

test("all sites of a person are summed, and nobody else's", async () => {
  const first = await handOver(db.sql, await createQueueTeam(db.sql, "sum-1", team.owner), "owner@sums.test");
  const second = await createQueueTeam(db.sql, "sum-2", first.owner);
  await rowsIn(db.sql, first, "QUEUED", 2, 100);
  await rowsIn(db.sql, second, "FAILED", 1, 100);
  const stats = await callAs(db.sql, first.owner, (tx) => tx`select public.queue_stats()`, controlAt);
  expect(stats).toMatchObject({
    siteId: null,
    scope: "multi",
    totals: { QUEUED: 2, FAILED: 1, COMPLETED: 0 },
    valueWaitingCents: { TRY: 200 },
  });
});

// Guarantee: should the figures ever be wrong, the daily count finds it, says by how much, and puts it right.
test("a wrong figure is found, kept and corrected", async () => {
  await db.sql`update private.queue_counts set row_count = row_count + 3 where state = 'COMPLETED' and site_id = ${team.siteUuid}`;
  await service(db.sql, "fold_queue_counts", {});
  expect(await service(db.sql, "reconcile_queue_counts", {})).toMatchObject({ drift: 1 });
  expect(plain(await keptCount(db.sql))).toEqual(plain(await fullCount(db.sql)));
  const [check] = await db.sql`select drift from private.queue_count_checks order by id desc limit 1`;
  expect(check?.drift).toMatchObject([{ site_id: team.siteUuid, state: "COMPLETED", n: -3 }]);
});

// Guarantee: a move that is not committed is in no figure, and a fold in the middle of it neither loses it nor counts it early.
test("a fold while a move is open leaves the move's lines to the next fold", async () => {
  const [row] = await rowsIn(db.sql, team, "QUEUED", 1, 4_321);
  await db.sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${minutesLater(1).toISOString()}, true)`;
    const claim = await callIn<Claimed>(tx, "claim_offline_conversion_rows_for_script_export", {
      p_ids: [row?.id],
      p_site_id: team.siteUuid,
    });
    expect(claim.rows).toHaveLength(1);
    await service(db.sql, "fold_queue_counts", {});
    expect(plain(await keptCount(db.sql))).toEqual(plain(await fullCount(db.sql)));
  });
  expect(plain(await keptCount(db.sql))).toEqual(plain(await fullCount(db.sql)));
  await service(db.sql, "fold_queue_counts", {});
  expect(plain(await keptCount(db.sql))).toEqual(plain(await fullCount(db.sql)));
});

/** Rows of a new site, created in different hours. */
async function rowsOverHours(name: string, count: number): Promise<{ site: Team; ids: string[] }> {
  const site = await createQueueTeam(db.sql, name, team.owner);
  const ids: string[] = [];
  for (let hour = 0; hour < count; hour++) ids.push((await sealLead(db.sql, site, { at: minutesLater(hour * 60 - 600) })).id);
  return { site, ids };
}
const check = (limit: number) => service<{ drift: number; more: boolean }>(db.sql, "reconcile_queue_counts", { p_limit: limit });

// Guarantee: the check is right though it takes many steps and rows move between them. Mutation: a fold that leaves the check's sum alone, or a
// part that is counted without taking its lines.
test("a check in steps finds what is wrong and nothing else, while rows move and lines are folded", async () => {
  for (let more = true; more; more = (await check(50_000)).more);
  const { site, ids } = await rowsOverHours("steps", 12);
  const random = seededRandom(11);
  const some = () => ids.filter(() => random() < 0.3);
  const about = (chosen: string[]) => ({ p_site_id: site.siteUuid, p_ids: chosen });
  const failure = { p_code: "APPLY_FAILED", p_category: "TRANSIENT", p_message: "w" };
  for (const planted of [0, 5]) {
    await db.sql`insert into private.queue_counts select ${site.siteUuid}, 'google_ads', 'COMPLETED', 'TRY', '', '', ${planted}, 0 where ${planted} > 0
      on conflict (site_id, provider_key, state, currency, code, category) do update set row_count = private.queue_counts.row_count + ${planted}`;
    let drift = 0;
    for (let more = true, minute = 1; more; minute++) {
      await claimForScript(db.sql, site, some(), minutesLater(minute));
      await service(db.sql, "fail_offline_conversions", { ...about(some()), ...failure }, minutesLater(minute));
      const reset = some().slice(0, 3);
      if (reset.length > 0) await act(db.sql, { action: "RESET_TO_QUEUED", ids: reset }, { team: site, at: minutesLater(minute) });
      if (random() < 0.2) await service(db.sql, "ack_offline_conversions", about(some().slice(0, 1)), minutesLater(minute));
      if (random() < 0.5) await service(db.sql, "fold_queue_counts", {});
      ({ more, drift } = await check(2));
    }
    expect(drift).toBe(planted === 0 ? 0 : 1);
    expect(plain(await keptCount(db.sql))).toEqual(plain(await fullCount(db.sql)));
  }
});

// Guarantee: a move that is open while its row is counted is no difference, whenever it commits.
test("a move that commits between two steps is in the check's sum", async () => {
  for (let more = true; more; more = (await check(50_000)).more);
  const { site, ids } = await rowsOverHours("open-move", 4);
  const stepsTo = async (reached: () => Promise<boolean>) => {
    while (!(await reached())) await check(1);
  };
  const throughOf = async () => (await db.sql`select site_id, through from private.queue_check`)[0];
  await db.sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${minutesLater(1).toISOString()}, true)`;
    await callIn(tx, "claim_offline_conversion_rows_for_script_export", { p_ids: ids.slice(0, 2), p_site_id: site.siteUuid });
    await stepsTo(async () => (await throughOf())?.site_id === site.siteUuid && (await throughOf())?.through > minutesLater(-600));
  });
  await service(db.sql, "fold_queue_counts", {});
  let answer = await check(1);
  while (answer.more) answer = await check(1);
  expect(answer.drift).toBe(0);
  expect(plain(await keptCount(db.sql))).toEqual(plain(await fullCount(db.sql)));
});
