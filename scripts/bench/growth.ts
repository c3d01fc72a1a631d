/**
 * What a step costs when there is ten times as much history, in a throw-away database: npm run bench:growth
 *   --rows 1000000   the largest size; each smaller power of ten from 10,000 on comes first. 10000000 needs 25 GB and half an hour.
 * "in one go" is the statement that did the same without steps. Times are of the SQL call alone, over a local connection.
 */
import { parseArgs } from "node:util";
import type postgres from "postgres";
import { callAs } from "#tests/fixtures/act-as.ts";
import { copyHistory } from "#tests/fixtures/bulk-rows.ts";
import { createQueueTeam } from "#tests/fixtures/queue-team.ts";
import { rowsIn } from "#tests/fixtures/rows-in.ts";
import { callAt } from "#tests/fixtures/service.ts";
import type { Person, Team } from "#tests/fixtures/team.ts";
import { withoutIndexes } from "./control-data.ts";
import { onStage, startDatabase } from "./stage.ts";

const { values: options } = parseArgs({ options: { rows: { type: "string", default: "1000000" } } });
const sizes = [10_000, 100_000, 1_000_000, 10_000_000].filter((size) => size <= Number(options.rows));

// Four weeks of events, and then a morning on which they are looked at. The invoice is made when the month is over.
const month = "2026-03";
const morning = `${month}-29T09:00:00Z`;
const afterMonth = "2026-04-03T02:25:00Z";

console.log(`|       rows | ${"what".padEnd(46)} | calls | rows a call |  p50 ms |  max ms | total s |`);
for (const size of sizes)
  await onStage(async (stage) => {
    const { sql } = await startDatabase(stage);
    const team = await createQueueTeam(sql, "bench");
    await benchLedger(sql, team, size);
    await benchQueue(sql, team, size);
  });

interface Line {
  size: number;
  what: string;
  /** Of each call. */
  taken: number[];
  rows: number;
}

function print({ size, what, taken, rows }: Line): void {
  const sorted = taken.toSorted((one, other) => one - other);
  const [middle = 0, slowest = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  const total = sorted.reduce((sum, ms) => sum + ms, 0) / 1000;
  const cells = [what.padEnd(46), String(taken.length).padStart(5), rows.toLocaleString("en").padStart(11), middle.toFixed(1).padStart(7)];
  cells.push(slowest.toFixed(1).padStart(7), total.toFixed(1).padStart(7));
  console.log(`| ${size.toLocaleString("en").padStart(10)} | ${cells.join(" | ")} |`);
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** Five calls of something that changes nothing, or nothing after the first call. */
async function fiveTimes(work: () => Promise<unknown>): Promise<number[]> {
  const taken: number[] = [];
  for (let turn = 0; turn < 5; turn++) taken.push(await timed(work));
  return taken;
}

async function untilDone(step: () => Promise<{ more: boolean; waiting?: number }>): Promise<number[]> {
  const taken: number[] = [];
  for (let more = true; more; )
    taken.push(
      await timed(async () => {
        const answer = await step();
        more = answer.more || (answer.waiting ?? 0) > 0;
      }),
    );
  return taken;
}

/** Rows as the gate writes them over four weeks, without the note that each is late. */
async function fillLedger(sql: postgres.Sql, { siteUuid }: Team, size: number): Promise<void> {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx`insert into public.ingest_idempotency (site_id, idempotency_key, event_name, created_at, expires_at)
      select ${siteUuid}, sha256(int8send(n)), 'interaction/view', at, at + interval '120 days'
      from (select n, private.month_start(${month}) + n * interval '28 days' / ${size} as at from generate_series(0, ${size - 1}::bigint) n) t`;
  });
  await sql`vacuum analyze public.ingest_idempotency`;
}

async function benchLedger(sql: postgres.Sql, team: Team, size: number): Promise<void> {
  await fillLedger(sql, team, size);
  const { siteUuid, siteId, viewer } = team;
  const [from, to] = [`${month}-01T00:00:00Z`, "2026-04-01T00:00:00Z"];
  const inOneGo = (what: string, taken: number[]) => print({ size, what: `${what}, in one go`, taken, rows: size });
  const member = (person: Person, work: Parameters<typeof callAs>[2]) => () => callAs(sql, person, work, new Date(morning));
  inOneGo(
    "one COUNT of the month",
    await fiveTimes(
      () =>
        sql`select count(*) from public.ingest_idempotency where site_id = ${siteUuid} and created_at >= ${from} and created_at < ${to}`,
    ),
  );
  inOneGo("digests of its days", [
    await timed(
      () => sql`select d, c.* from generate_series(${from}::timestamptz, ${`${month}-31`}::timestamptz, interval '1 day') d cross join lateral (
        select count(*), sha256(string_agg(i.idempotency_key, ''::bytea order by i.idempotency_key)) from public.ingest_idempotency i
        where i.site_id = ${siteUuid} and i.created_at >= d and i.created_at < d + interval '1 day') c`,
    ),
  ]);
  if (size <= 1_000_000)
    inOneGo("digest of all as one day", [
      await timed(
        () => sql`select sha256(string_agg(i.idempotency_key, ''::bytea order by i.idempotency_key)) from public.ingest_idempotency i`,
      ),
    ]);

  const counting = await untilDone(() => callAt(sql, morning, (tx) => tx`select public.reconcile_usage()`));
  print({ size, what: "reconcile_usage, until all is counted", taken: counting, rows: Math.min(size, 10_000) });
  const settled = async (what: string, rows: number, work: () => Promise<unknown>) =>
    print({ size, what, taken: await fiveTimes(work), rows });
  await settled("recount_month, under the lock", 0, () => sql`select private.recount_month(${siteUuid}, ${month})`);
  await settled(
    "billing_overview",
    0,
    member(viewer, (tx) => tx`select public.billing_overview(${siteId})`),
  );
  await settled(
    "list_counted_events, first page",
    100,
    member(viewer, (tx) => tx`select public.list_counted_events(${siteId}, ${month})`),
  );
  const freezing = await untilDone(() => callAt(sql, afterMonth, (tx) => tx`select public.freeze_invoices(${month})`));
  print({ size, what: "freeze_invoices", taken: freezing, rows: 0 });
  const [invoice] = await sql`select event_count::int as events from public.invoices where site_id = ${siteUuid}`;
  if (invoice?.events !== size) throw new Error(`The invoice has ${invoice?.events} of ${size} events.`);
}

async function benchQueue(sql: postgres.Sql, team: Team, size: number): Promise<void> {
  const [delivered] = await rowsIn(sql, team, "COMPLETED");
  await withoutIndexes(sql, ["private.queue_open", "private.queue_delivered"], () => copyHistory(sql, delivered?.id ?? "", size));
  await sql`vacuum analyze private.queue_open, private.queue_delivered`;
  const whole = await timed(
    () => sql`select q.site_id, q.provider_key, q.status, q.currency, q.provider_error_code, q.provider_error_category, count(*), sum(q.value_cents)
      from public.offline_conversion_queue q group by 1, 2, 3, 4, 5, 6`,
  );
  print({ size, what: "a full count of the queue, in one go", taken: [whole], rows: size });
  const steps = await untilDone(() => callAt(sql, morning, (tx) => tx`select public.reconcile_queue_counts()`));
  print({ size, what: "reconcile_queue_counts, one check", taken: steps, rows: Math.min(size, 5000) });
}
