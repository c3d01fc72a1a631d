import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { copyRows } from "#tests/fixtures/bulk-rows.ts";
import { minutesLater, sealLead } from "#tests/fixtures/queue.ts";
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
async function observe(call: string) {
  const plans: PlanNode[] = [];
  const sql = postgres(db.adminUrl, {
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
    const [row] = await tx`
      select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname = 'offline_conversion_queue'`;
    return Number(row?.rows);
  });
  await sql.end();
  return {
    nodes: plans.flatMap(nodesOf).filter((node) => node["Relation Name"] === "offline_conversion_queue"),
    all: plans.flatMap(nodesOf),
    read,
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
