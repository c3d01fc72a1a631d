import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { queueCharts } from "#lib/oci/queue/charts.ts";
import { queueRowStory } from "#lib/oci/queue/row-story.ts";
import { salesPage } from "#lib/seal/sales-list.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { connectApi } from "#tests/fixtures/connections.ts";
import { change } from "#tests/fixtures/leads.ts";
import { claimForScript, minutesLater, sealLead } from "#tests/fixtures/queue.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { rowsIn } from "#tests/fixtures/rows-in.ts";
import { service } from "#tests/fixtures/service.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { controlAt, listRows, readStats } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createQueueTeam(db.sql, "not-sent");
});
afterAll(() => db.drop());

// Guarantee: a sale that was cancelled, undone or changed before it was sent is nobody's failure, on any figure, and can be listed by itself.
// Mutations: count every FAILED row in the chart; leave notSent out of the conditions of a filter.
test("what was closed on purpose is counted, listed and drawn apart from failures, and totals keep all of them", async () => {
  const failed = await rowsIn(db.sql, team, "FAILED", 2, 5_000);
  const cancelled = await sealLead(db.sql, team);
  await change(db.sql, { team }, "cancel_sale", { id: cancelled.saleId }, { at: minutesLater(3) });
  const undone = await sealLead(db.sql, team);
  await change(db.sql, { team }, "undo_call", { id: undone.callId }, { at: minutesLater(4) });
  // Corrected after it was sent, and back before the correction went: a correction that a later change made needless.
  const [sold] = await rowsIn(db.sql, team, "COMPLETED", 1, 700);
  for (const [cents, minute] of [
    [900, 5],
    [700, 6],
  ] as const)
    await change(db.sql, { team }, "correct_sale", { id: sold?.saleId, amountCents: cents }, { at: minutesLater(minute) });

  expect(await readStats(db.sql, team)).toMatchObject({ totals: { FAILED: 5, COMPLETED: 1 }, notSent: 3, failedRatio: 0.6667 });
  const found = async (filter: Record<string, unknown>) => (await listRows(db.sql, team, filter)).rows.map(({ id }) => id);
  const notSent = await found({ notSent: true });
  expect(notSent).toHaveLength(3);
  expect(notSent).toEqual(expect.arrayContaining([cancelled.id, undone.id]));
  expect((await found({ status: "FAILED", notSent: false })).sort()).toEqual(failed.map(({ id }) => id).sort());
  expect(await found({ status: "FAILED" })).toHaveLength(5);
  expect(await found({ notSent: false })).toHaveLength(3);
  // The same in Sales. Mutations: codes of its own in the filter `failed`; the newest row's state whatever its kind.
  const salesBy = async (delivery: string) => {
    const read = (tx: postgres.TransactionSql) => tx`select public.list_sales(${team.siteId}, ${tx.json({ delivery })})`;
    return new Map(salesPage.parse(await callAs(db.sql, team.viewer, read)).sales.map((sale) => [sale.id, sale.delivery.state]));
  };
  expect([...(await salesBy("failed")).keys()].sort()).toEqual(failed.map(({ saleId }) => saleId).sort());
  expect([...(await salesBy("never")).keys()].sort()).toEqual([cancelled.saleId, undone.saleId].sort());
  expect([...(await salesBy("sent"))]).toEqual([[sold?.saleId, "COMPLETED"]]);
  const charts = queueCharts.parse(
    await callAs(db.sql, team.viewer, (tx) => tx`select public.queue_charts(${team.siteId}, '24h')`, controlAt),
  );
  expect(charts.activity.at(-1)).toMatchObject({ delivered: 1, failed: 2, notSent: 3 });
  expect(charts.causes).toMatchObject([{ code: "FAILED_CODE", count: 2 }]);

  const story = queueRowStory.parse(
    await callAs(db.sql, team.viewer, (tx) => tx`select public.queue_row_story(${team.siteId}, ${cancelled.id}, 5)`, controlAt),
  );
  expect(story.transitions.at(-1)).toMatchObject({
    to: "FAILED",
    errorCode: "SALE_CANCELLED",
    by: { kind: "user", name: team.operator.email },
  });
});

test("a list of what waits holds what the figure counts", async () => {
  const own = await createQueueTeam(db.sql, "waiting", team.owner);
  await rowsIn(db.sql, own, "QUEUED", 2, 1_000);
  await rowsIn(db.sql, own, "RETRY", 1, 2_000);
  await rowsIn(db.sql, own, "PROCESSING", 1);
  await rowsIn(db.sql, own, "FAILED", 1);
  const { rows } = await listRows(db.sql, own, { waiting: true });
  const stats = await readStats(db.sql, own);
  expect(rows).toHaveLength(stats.totals.QUEUED + stats.totals.RETRY);
  expect({ TRY: rows.reduce((sum, { valueCents }) => sum + valueCents, 0) }).toEqual(stats.valueWaitingCents);
  const figures = await callAs<Record<string, unknown>>(
    db.sql,
    own.viewer,
    (tx) => tx`select public.desk_figures(${own.siteId})`,
    controlAt,
  );
  expect(figures).toMatchObject({ waiting: { count: 3, valueCents: { TRY: 4_000 } }, failed: { count: 1, topCode: "FAILED_CODE" } });
});

// Guarantee: no tile says "ready" while every row waits for tomorrow. Mutation: take not_before alone for when a row may be sent.
test("a correction that waits a day is not due before the day is over", async () => {
  const own = await createQueueTeam(db.sql, "tomorrow", team.owner);
  const { id, saleId } = await sealLead(db.sql, own, { amountCents: 1_000 });
  await claimForScript(db.sql, own, [id], minutesLater(1));
  await service(db.sql, "ack_offline_conversions", { p_site_id: own.siteUuid, p_ids: [id] }, minutesLater(2));
  await connectApi(db.sql, own, { at: minutesLater(3) });
  await callAs(db.sql, own.owner, (tx) => tx`select public.switch_delivery(${own.siteId}, 'api')`, minutesLater(4));
  await change(db.sql, { team: own }, "correct_sale", { id: saleId, amountCents: 2_000 }, { at: minutesLater(5) });
  const { rows } = await listRows(db.sql, own, { status: "QUEUED" });
  const { nextDueAt } = await readStats(db.sql, own);
  expect(rows.map(({ waitsFor, waitsUntil }) => [waitsFor, waitsUntil])).toEqual([["DAY", nextDueAt.QUEUED]]);
  expect(new Date(String(nextDueAt.QUEUED))).toEqual(minutesLater(2 + 24 * 60));
});
