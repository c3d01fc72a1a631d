/**
 * How fast OCI Control reads and acts on a big queue, in a throw-away database: npm run bench:control
 *   --rows 1000000   rows of one site          --runs 40   calls per line
 * Times are of the SQL call alone, as the signed-in reader, over a local connection; a warm cache, as a queue that is looked at has.
 */
import { parseArgs } from "node:util";
import postgres from "postgres";
import { queueStatuses } from "#lib/oci/queue-types.ts";
import { actAs } from "#tests/fixtures/act-as.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { startStack } from "../local/stack.ts";
import { fillQueue } from "./control-data.ts";
import { onStage, type Stage } from "./stage.ts";

const { values: options } = parseArgs({
  options: { rows: { type: "string", default: "1000000" }, runs: { type: "string", default: "40" } },
});
const rows = Number(options.rows);
const runs = Number(options.runs);

await onStage(bench);

type Taken = [fastest: number, p50: number, p95: number];
type Ask = (tx: postgres.TransactionSql) => Promise<unknown>;

/** The fastest, p50 and p95 in milliseconds: on a machine that others use, the fastest is what the work costs. Each call is a transaction of its own; signing in is not timed. */
async function measure(sql: postgres.Sql, person: { id: string }, ask: Ask, times = runs): Promise<Taken> {
  const taken: number[] = [];
  for (let run = 0; run < times + 2; run++) {
    await actAs(sql, person.id, async (tx) => {
      const startedAt = performance.now();
      await ask(tx);
      if (run >= 2) taken.push(performance.now() - startedAt);
    });
  }
  taken.sort((one, other) => one - other);
  const at = (share: number) => taken[Math.min(taken.length - 1, Math.floor(taken.length * share))] ?? 0;
  return [at(0), at(0.5), at(0.95)];
}

function print(name: string, taken: Taken, note = ""): void {
  console.log(`| ${name.padEnd(44)} | ${taken.map((ms) => ms.toFixed(1).padStart(7)).join(" | ")} | ${note}`);
}

async function bench({ stateDir, stopList }: Stage): Promise<void> {
  const stack = await startStack({ mode: "test", stateDir, logDir: stateDir, siteUrl: "http://127.0.0.1", quiet: true });
  stopList.add(stack.stop);
  const sql = postgres(stack.adminUrl, { max: 4, onnotice: () => {} });
  stopList.add(() => sql.end());
  const startedAt = performance.now();
  const team = await fillQueue(sql, rows);
  console.log(`${rows.toLocaleString("en")} rows of one site, made in ${((performance.now() - startedAt) / 1000).toFixed(0)} s\n`);
  console.log(`| ${"what".padEnd(44)} | fastest |     p50 |     p95 | ms`);
  await readFigures(sql, team);
  await readRows(sql, team);
  await actOnRows(sql, team);
}

async function readFigures(sql: postgres.Sql, team: Team): Promise<void> {
  const { siteId, viewer } = team;
  print("queue_stats", await measure(sql, viewer, (tx) => tx`select public.queue_stats(${siteId})`));
  print("queue_stats of all sites", await measure(sql, viewer, (tx) => tx`select public.queue_stats()`));
  for (const range of ["24h", "7d", "30d", "90d"])
    print(`queue_charts ${range}`, await measure(sql, viewer, (tx) => tx`select public.queue_charts(${siteId}, ${range})`, 10));
  const [row] = await sql`select id from public.offline_conversion_queue where site_id = ${team.siteUuid} and status = 'FAILED' limit 1`;
  print("queue_row_story", await measure(sql, viewer, (tx) => tx`select public.queue_row_story(${siteId}, ${row?.id}, 5)`));
}

async function readRows(sql: postgres.Sql, team: Team): Promise<void> {
  const [one] = await sql`select q.id, q.order_id, s.gclid, right(c.phone, 6) as ending from public.offline_conversion_queue q
    join public.sales s on s.id = q.sale_id join public.calls c on c.id = q.call_id where q.site_id = ${team.siteUuid} offset ${Math.floor(rows / 2)} limit 1`;
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  const filters: [string, Record<string, unknown>][] = [
    ["no filter", {}],
    ["sort=updated", { sort: "updated" }],
    ["errorCategory, common", { errorCategory: "PERMANENT" }],
    ["errorCategory, rare", { errorCategory: "AUTH" }],
    ["errorCode, common", { errorCode: "INTERNAL_ERROR" }],
    ["errorCode, rare", { errorCode: "RARE" }],
    ["errorCode, unknown", { errorCode: "NO_SUCH_CODE" }],
    ["provider", { provider: "google_ads" }],
    ["provider, unknown", { provider: "nobody" }],
    ["channel, common", { channel: "phone" }],
    ["channel, rare", { channel: "form" }],
    ["kind, common", { kind: "CONVERSION" }],
    ["kind, rare", { kind: "RETRACT" }],
    ["minValue, few", { minValue: 4_990_000 }],
    ["minValue, some", { minValue: 4_000_000 }],
    ["minValue, none", { minValue: 90_000_000 }],
    ["minValue + maxValue", { minValue: 100_000, maxValue: 101_000 }],
    ["createdFrom/To, old day", { createdFrom: daysAgo(60), createdTo: daysAgo(59) }],
    ["updatedFrom/To, old day", { updatedFrom: daysAgo(60), updatedTo: daysAgo(59) }],
    ["updatedTo, old", { updatedTo: daysAgo(80) }],
    ["minAttempts 3", { minAttempts: 3 }],
    ["minAttempts 5", { minAttempts: 5 }],
    ["stuck", { stuck: true }],
    ["waitingForDelay", { waitingForDelay: true }],
    ["verdict, rare", { verdict: "REJECTED" }],
    ["verdict, old day", { verdict: "CONFIRMED", sentFrom: daysAgo(60).slice(0, 10), sentTo: daysAgo(60).slice(0, 10) }],
    ["q: order id", { q: one?.order_id }],
    ["q: row id", { q: one?.id }],
    ["q: click id", { q: one?.gclid }],
    ["q: phone ending", { q: one?.ending }],
    ["q: nobody", { q: "no-such-thing" }],
  ];
  const ask = (filter: Record<string, unknown>, cursor: string | null) => (tx: postgres.TransactionSql) =>
    tx`select public.queue_rows(${team.siteId}, 5, ${tx.json(filter as never)}, ${cursor}, 100)`;
  for (const [name, filter] of filters) {
    print(name, await measure(sql, team.viewer, ask(filter, null)));
    let worst: { status: string; taken: Taken } = { status: "", taken: [0, 0, 0] };
    for (const status of queueStatuses) {
      const taken = await measure(sql, team.viewer, ask({ ...filter, status }, null), Math.ceil(runs / 2));
      if (taken[1] > worst.taken[1]) worst = { status, taken };
    }
    print(`${name} + status, the slowest`, worst.taken, worst.status);
  }
  const [middle] = await sql`select private.cursor_text('created', (now() - interval '45 days')::text, private.uuid_v7()) as cursor`;
  print("a page in the middle", await measure(sql, team.viewer, ask({}, String(middle?.cursor))));
}

async function actOnRows(sql: postgres.Sql, team: Team): Promise<void> {
  const { siteId, operator } = team;
  let seen: { previewId: string; digest: string; count: number } | undefined;
  const previewed = await measure(
    sql,
    operator,
    async (tx) => {
      const [row] = await tx`select public.preview_queue_action(${siteId}, 'RETRY_SELECTED', '{"status": "FAILED"}'::jsonb, 5) as answer`;
      seen = row?.answer;
    },
    3,
  );
  print(`preview of ${seen?.count.toLocaleString("en")} rows`, previewed);
  const commit = { action: "RETRY_SELECTED", previewId: seen?.previewId ?? "", digest: seen?.digest ?? "" };
  print(
    "commit, a batch of 1,000",
    await measure(sql, operator, (tx) => tx`select public.act_on_queue(${siteId}, ${tx.json(commit)}, ${"0".repeat(64)})`, 10),
  );
  const claim = (
    tx: postgres.TransactionSql,
  ) => tx`update public.offline_conversion_queue q set status = 'PROCESSING', claimed_at = now(), claim_token = gen_random_uuid(),
    attempt_count = q.attempt_count + 1, conversion_name = coalesce(q.conversion_name, 'seal') where q.id in (select x.id from public.offline_conversion_queue x
    where x.site_id = ${team.siteUuid} and x.provider_key = 'google_ads' and x.state in ('QUEUED', 'RETRY') and x.claim_token is null
    and coalesce(x.next_retry_at, '-infinity') <= now() order by coalesce(x.next_retry_at, '-infinity'), x.created_at, x.id limit 500 for update skip locked)`;
  for (const without of [false, true]) {
    if (without)
      await sql`drop index private.queue_rows_by_status, private.queue_rows_by_change, private.queue_rows_by_channel,
      private.queue_rows_by_value, private.queue_rows_by_error_code, private.queue_rows_by_error_category, private.queue_adjustments, private.queue_rows_tried_again,
      private.waiting_rows_by_due_time`;
    const taken: number[] = [];
    for (let run = 0; run < 12; run++)
      await sql.begin(async (tx) => {
        const startedAt = performance.now();
        await claim(tx);
        taken.push(performance.now() - startedAt);
      });
    taken.sort((one, other) => one - other);
    print(`a claim of 500, ${without ? "without" : "with"} the readers' indexes`, [taken[0] ?? 0, taken[5] ?? 0, taken[11] ?? 0]);
  }
}
