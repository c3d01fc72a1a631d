import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { copyDelivered, copyRows } from "#tests/fixtures/bulk-rows.ts";
import { claimForWorker, minutesLater, sealLead, settleClaim } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { service } from "#tests/fixtures/service.ts";
import type { Team } from "#tests/fixtures/team.ts";
import { createTestDatabase, type TestDatabase } from "#tests/support/test-database.ts";

const rowCount = 100_000;
const limit = 50;

let db: TestDatabase;
let team: Team;
beforeAll(async () => {
  db = await createTestDatabase();
  team = await createApiTeam(db.sql, "plan");
  const { saleId } = await sealLead(db.sql, team);
  await copyRows(db.sql, saleId, rowCount);
}, 240_000);
afterAll(() => db.drop());

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  Plans?: PlanNode[];
}
const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** What the function really did: the plans of every statement inside it, and how many rows of the queue it touched. */
async function observe(call: string, adminUrl = db.adminUrl) {
  const plans: PlanNode[] = [];
  const sql = postgres(adminUrl, {
    max: 1,
    onnotice: ({ message }) => {
      const json = message?.match(/plan:\n([\s\S]*)$/)?.[1];
      if (json) plans.push(JSON.parse(json).Plan);
    },
  });
  await sql`load 'auto_explain'`;
  await sql.unsafe(`set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on; set auto_explain.log_level = 'notice';
    set auto_explain.log_format = 'json'`);
  const read = await sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${minutesLater(60).toISOString()}, true)`;
    // Six times, so that the plan that is reused for ever after is looked at too.
    for (let n = 0; n < 6; n++) await tx.unsafe(call);
    const rows = await tx<{ relname: string; rows: number }[]>`
      select relname, (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname in ('queue_open', 'sales')`;
    return Object.fromEntries(rows.map(({ relname, rows }) => [relname, rows]));
  });
  await sql.end();
  return {
    nodes: plans.flatMap(nodesOf).filter((node) => node["Relation Name"] === "queue_open"),
    all: plans.flatMap(nodesOf),
    read: read.queue_open ?? 0,
    readSales: read.sales ?? 0,
  };
}

// Guarantee: a claim costs the same at a thousand rows and at a million; it never walks the backlog, nor what waits for later.
// Mutation that breaks it: one scan with "next_retry_at is null or next_retry_at <= now".
test("a claim reads its rows off the index in order, without a sort", async () => {
  const { nodes, all, read } = await observe(`select public.claim_offline_conversion_jobs_v2('${team.siteUuid}', 'google_ads', ${limit})`);
  expect(nodes.map((node) => node["Index Name"])).toContain("idx_offline_conversion_queue_eligible_scan");
  expect(nodes.map((node) => node["Node Type"])).not.toContain("Seq Scan");
  const claimPlans = all.filter((node) => node["Node Type"] === "LockRows").flatMap(nodesOf);
  expect(claimPlans.map((node) => node["Node Type"])).not.toContain("Sort");
  expect(read).toBeLessThan(6 * limit * 6); // a handful of looks at each row that is claimed
});

// Guarantee: a transaction that stays open does not slow answers down: dead leases cannot be removed then, and a scan would walk over all of them.
// Mutation that breaks it: settle_and_claim without "enable_seqscan = off".
test("an answer finds its lease by the token, however few are alive", async () => {
  const claimed = await claimForWorker(db.sql, team, { at: minutesLater(50), limit: 1 });
  await db.sql`analyze private.queue_leases`;
  const facts = { provider: "google_ads", outcome: "success", credentialsVersion: claimed.batch.credentialsVersion, durationMs: 1 };
  const { all } = await observe(`select public.settle_and_claim_conversion_jobs('${team.siteUuid}', 'google_ads', '${claimed.token}',
    '{"transport": "ads_api", "verdict": "CONFIRMED"}', '${JSON.stringify(facts)}')`);
  const looks = all.filter((node) => node["Relation Name"] === "queue_leases" && node["Node Type"].endsWith("Scan"));
  expect(new Set(looks.map((node) => node["Node Type"]))).toEqual(new Set(["Index Scan"]));
});

// Guarantee: the count that shares out a run is true, and what waits for later (all of it, while a circuit is open) costs it nothing.
// Mutation that breaks it: drop "is true" from sendable_queue, or count with one scan.
test("groups are counted by reading each due row once, and none that waits for later", async () => {
  const { nodes, read } = await observe("select public.list_offline_conversion_groups(10)");
  expect(nodes.map((node) => node["Node Type"])).not.toContain("Seq Scan");
  expect(read).toBeLessThan(6 * (rowCount / 2) * 1.1);
  const [group] = await service<{ queued_count: number }[]>(db.sql, "list_offline_conversion_groups", {}, minutesLater(60));
  const [due] = await db.sql`select count(*)::int as rows from public.offline_conversion_queue
    where status in ('QUEUED', 'RETRY') and next_retry_at is null`;
  expect(group?.queued_count).toBe(due?.rows);
});

// Guarantee: nor does it walk rows that are not plain and wait for later, as after a rate limit. The planner cannot know that none of them is due.
// Mutation that breaks it: claim_due that asks whether any of them is due, instead of looking at the first.
test("a claim beside many rows that were tried and wait for later reads none of them", async () => {
  await db.sql`update private.queue_open set is_plain = false where next_retry_at is not null`;
  await db.sql`vacuum analyze private.queue_open`;
  const { nodes, read } = await observe(`select public.claim_offline_conversion_jobs_v2('${team.siteUuid}', 'google_ads', ${limit})`);
  expect(nodes.map((node) => node["Node Type"])).not.toContain("Seq Scan");
  expect(read).toBeLessThan(6 * limit * 12); // as above, and a look at each of the rows that other tests left in flight
});

// Guarantee: a claim looks up the sales of its rows, also once the statistics are new. It once scanned every sale for each row.
// Mutation that breaks it: let the planner join sendable_queue's sales (drop "offset 0").
test("a claim of 500 reads the sales of 500 rows, also with new statistics of a queue that was emptied before", async () => {
  const own = await createTestDatabase();
  try {
    const site = await createApiTeam(own.sql, "emptied");
    const { saleId } = await sealLead(own.sql, site);
    for (const rows of [6000, 10_000]) {
      await copyRows(own.sql, saleId, rows, { halfDeferred: false });
      await own.sql`vacuum analyze private.queue_open, private.queue_delivered`;
      for (let done = 0; rows === 6000 && done < rows; done += 500) {
        const claim = await claimForWorker(own.sql, site, { at: minutesLater(60), limit: 500 });
        await settleClaim(own.sql, site, claim, { outcome: "COMPLETED" }, { at: minutesLater(61) });
      }
    }
    const { readSales } = await observe(
      `select public.claim_offline_conversion_jobs_v2('${site.siteUuid}', 'google_ads', 500)`,
      own.adminUrl,
    );
    expect(readSales).toBeLessThan(6 * 500 * 6);
  } finally {
    await own.drop();
  }
});

// Guarantee: what was sent of a sale is found by the sale, however long the history is: answers, corrections and screens ask it all the time.
// Mutation that breaks it: a half of provider_dispatches whose column is a domain where the other's is text (a look then took seconds).
test("a look at the dispatches of one sale reads that sale's rows alone", async () => {
  const long = await createApiTeam(db.sql, "long-history", team.owner);
  await sealLead(db.sql, long);
  await settleClaim(
    db.sql,
    long,
    await claimForWorker(db.sql, long, { at: minutesLater(1) }),
    { outcome: "COMPLETED" },
    { at: minutesLater(2) },
  );
  const { saleId } = await sealLead(db.sql, long);
  await copyDelivered(db.sql, long.siteUuid, 20_000);
  await db.sql`analyze private.queue_delivered`;
  // As a join: a given id would be found either way. The copies are all of one sale, so the planner is kept from reading everything.
  const [row] = await db.sql.begin(async (tx) => {
    await tx`set local enable_seqscan = off`;
    await tx`set local enable_hashjoin = off`;
    await tx`set local enable_mergejoin = off`;
    return tx`explain (format json) select d.* from public.sales s join public.provider_dispatches d on d.sale_id = s.id
      where s.order_id = (select order_id from public.sales where id = ${saleId})`;
  });
  const nodes = nodesOf(row?.["QUERY PLAN"][0].Plan);
  const read = nodes.filter((node) => node["Relation Name"] === "queue_delivered").map((node) => node["Node Type"]);
  expect(read).toHaveLength(1);
  expect(read).not.toContain("Seq Scan");
});
