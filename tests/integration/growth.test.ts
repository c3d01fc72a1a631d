import { expect, test } from "vitest";
import { callAs } from "#tests/fixtures/act-as.ts";
import { copyHistory, copyRows } from "#tests/fixtures/bulk-rows.ts";
import { admitAt, admitMany } from "#tests/fixtures/counted-events.ts";
import { claimForWorker, minutesLater, sealLead } from "#tests/fixtures/queue.ts";
import { createApiTeam, createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { rowsIn } from "#tests/fixtures/rows-in.ts";
import { callAt, service } from "#tests/fixtures/service.ts";
import { readStats } from "#tests/support/control.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";
import { type WatchedPlans, watchPlans } from "#tests/support/watched-plans.ts";

/** Gives a test two databases, with ten times as much in the second, and what it saw in each. */
async function inBoth<T>(see: (db: TestDatabase, plans: WatchedPlans, times: number) => Promise<T>): Promise<{ small: T; large: T }> {
  const seen: T[] = [];
  for (const times of [1, 10]) {
    const db = await createTestDatabase();
    const plans = await watchPlans(db.adminUrl);
    seen.push(await see(db, plans, times));
    await plans.sql.end();
    await db.drop();
  }
  const [small, large] = seen as [T, T];
  return { small, large };
}

const growing = ["ingest_idempotency", "queue_open", "queue_delivered", "sales"];

/** How many rows of the tables that grow were read by everything that ran. */
async function rowsOf(plans: WatchedPlans, work: () => Promise<unknown>): Promise<number> {
  const { steps } = await plans.stepsOf(work);
  return steps.filter(({ table = "" }) => growing.includes(table)).reduce((sum, { rows }) => sum + rows, 0);
}

/** The same for each call, until one says that it was the last. */
async function rowsPerCall(plans: WatchedPlans, call: () => Promise<{ more: boolean }>): Promise<number[]> {
  const perCall: number[] = [];
  for (let more = true; more; )
    perCall.push(
      await rowsOf(plans, async () => {
        more = (await call()).more;
      }),
    );
  return perCall;
}

const days = 2;
const today = "2026-03-25T12:00:00Z";
const timeout = 120_000; // five seconds each, on a machine with nothing else to do

// Guarantee: no call takes longer because a customer sent more before. Nothing times out, and no visitor of a capped site waits.
// Mutation: daily_counts that counts closed days, count_page without its limit, exists() in the choice of sites.
test("with 10,000 and with 100,000 events of a month, each step reads the same number of rows", { timeout }, async () => {
  const { small, large } = await inBoth(async (db, plans, times) => {
    const { siteUuid, siteId, viewer } = await createQueueTeam(db.sql, "busy");
    await admitMany(db.sql, { siteUuid, from: "2026-03-01T00:00:00Z", batches: days * times * 50, secondsApart: 86_400 / 50 });
    await admitAt(db.sql, { siteUuid, at: "2026-03-25T11:59:30Z", name: "not settled", count: 700 });
    await db.sql`delete from public.ingest_fallback_buffer`; // as if the worker had stored all of them
    await db.sql`vacuum analyze`;
    const member = (work: Parameters<typeof callAs>[2]) => callAs(plans.sql, viewer, work, new Date(today));
    const counting = await rowsPerCall(plans, () => callAt(plans.sql, today, (tx) => tx`select public.reconcile_usage()`));
    const figures = [
      await rowsOf(plans, () => plans.sql`select private.recount_month(${siteUuid}, '2026-03')`),
      await rowsOf(plans, () => member((tx) => tx`select public.billing_overview(${siteId})`)),
      await rowsOf(plans, () => member((tx) => tx`select public.list_counted_events(${siteId}, '2026-03')`)),
      ...(await rowsPerCall(plans, () => callAt(plans.sql, "2026-04-03T00:00:00Z", (tx) => tx`select public.freeze_invoices('2026-03')`))),
    ];
    const [invoice] = await db.sql`select event_count::int as events from public.invoices`;
    expect(invoice?.events).toBe(days * times * 5000 + 700);
    return { counting, figures };
  });
  expect(large.counting.length).toBeGreaterThan(5 * small.counting.length);
  expect(large.counting[0]).toBe(small.counting[0]);
  expect(Math.max(...large.counting)).toBeLessThan(11_000); // ten pages, and today's 700
  // Today's 700, and a page of 100 in the list. A plan gives the mean of its rounds as a whole number: half a row a day.
  for (const [index, rows] of large.figures.entries()) expect(Math.abs(rows - (small.figures[index] ?? 0))).toBeLessThan(31);
  // The overview counts today's 700 twice: for the bill, and to say whether the day is unusual.
  expect(Math.max(...large.figures)).toBeLessThan(1550);
});

// Guarantee: the check of the counts ends, however long a customer has been with us.
// Mutation: part_end that always gives 'infinity'.
test("with 10,000 and with 100,000 rows on the queue, each step of the check reads the same number of rows", { timeout }, async () => {
  const { small, large } = await inBoth(async (db, plans, times) => {
    const team = await createQueueTeam(db.sql, "queue");
    const [delivered] = await rowsIn(db.sql, team, "COMPLETED");
    await copyHistory(db.sql, delivered?.id ?? "", 10_000 * times);
    const perCall = await rowsPerCall(plans, () => service(plans.sql, "reconcile_queue_counts", {}, minutesLater(3)));
    expect((await readStats(db.sql, team)).totals).toMatchObject({ COMPLETED: 9500 * times + 1, FAILED: 500 * times });
    return perCall;
  });
  expect(large.length).toBeGreaterThan(5 * small.length);
  expect(large[0]).toBe(small[0]);
  expect(Math.max(...large)).toBe(small[0]);
});

// Guarantee: OCI Control's figures cost as much as what is in flight and what is due next, however much waits.
// Mutation: next_due without its "offset 0" for held sales.
test("with 2,000 and with 20,000 waiting rows, the figures read the same number of rows", { timeout }, async () => {
  const { small, large } = await inBoth(async (db, plans, times) => {
    const team = await createApiTeam(db.sql, "figures");
    const { saleId } = await sealLead(db.sql, team);
    await copyRows(db.sql, saleId, 2000 * times);
    await claimForWorker(db.sql, team, { at: minutesLater(1), limit: 50 });
    await db.sql`vacuum analyze`;
    const rows = await rowsOf(plans, () =>
      callAs(plans.sql, team.viewer, (tx) => tx`select public.queue_stats(${team.siteId})`, minutesLater(2)),
    );
    expect((await readStats(db.sql, team, minutesLater(2))).totals).toMatchObject({ PROCESSING: 50 });
    return rows;
  });
  expect(large).toBeLessThan(1.2 * small);
});
