/**
 * What a job costs in our queue, in the least a Postgres can do, and in its rivals: npm run bench:queue
 *   --scale 1          share of the counts below         --repeats 3         medians of so many
 *   --backlog 1000000  biggest backlog for the latency   --held 100000       rows for the run beside an open transaction; a list, or 0 for none
 *   --only 50          one batch size                    --conditions vacuumed,grown
 * A durable Postgres of its own (fsync on), four workers, systems in shuffled turns. The rivals are installed apart: npm install --prefix scripts/bench/rivals
 */

import { parseArgs } from "node:util";
import postgres from "postgres";
import type { SiteUuid } from "#lib/site.ts";
import { copyRows } from "#tests/fixtures/bulk-rows.ts";
import { sealLead } from "#tests/fixtures/queue.ts";
import { createApiTeam } from "#tests/fixtures/queue-team.ts";
import { floor, graphileWorker, hasRivals, ours, oursApart, pgBoss, type QueueSystem } from "./queue-systems.ts";
import { onStage, type Stage, startDatabase } from "./stage.ts";

const { values: options } = parseArgs({
  options: {
    scale: { type: "string", default: "1" },
    repeats: { type: "string", default: "3" },
    backlog: { type: "string", default: "1000000" },
    held: { type: "string", default: "100000" },
    only: { type: "string" },
    conditions: { type: "string", default: "vacuumed,grown" },
  },
});
const scale = Number(options.scale);
const counts = [
  { batch: 1, rows: 2_000 * scale },
  { batch: 50, rows: 20_000 * scale },
  { batch: 500, rows: 40_000 * scale },
].filter(({ batch }) => !options.only || batch === Number(options.only));

/** Vacuumed: before each drain every table is; rivals are at their best. Grown: as tables grow between two vacuums of autovacuum's. */
const conditions = options.conditions.split(",");

await onStage(bench);

async function bench(stage: Stage): Promise<void> {
  const { sql, adminUrl, appUrl } = await startDatabase(stage);
  const team = await createApiTeam(sql, "bench");
  const sealed = await sealLead(sql, team, { at: new Date(Date.now() - 3_600_000) });
  const scene = { adminUrl, appUrl, team, saleId: sealed.saleId };

  const systems = [ours(scene), oursApart(scene), floor(adminUrl)];
  if (hasRivals()) systems.push(await pgBoss(adminUrl), await graphileWorker(adminUrl));
  else console.log("Without pg-boss and graphile-worker: npm install --prefix scripts/bench/rivals\n");
  for (const condition of conditions) await compare(sql, systems, condition);
  for (const rows of options.held
    .split(",")
    .map(Number)
    .filter((count) => count > 0))
    await beside(sql, adminUrl, systems, rows);
  for (const system of systems) await system.stop();
  await latency(sql, { siteUuid: team.siteUuid, saleId: sealed.saleId });
}

async function compare(sql: postgres.Sql, systems: QueueSystem[], condition: string): Promise<void> {
  const cells = new Map(systems.map(({ name }) => [name, [] as string[]]));
  for (const size of counts) {
    const measured = new Map(systems.map(({ name }) => [name, [] as Cost[]]));
    for (let repeat = 0; repeat < Number(options.repeats); repeat++)
      for (const system of shuffled(systems)) measured.get(system.name)?.push(await cost(sql, system, { ...size, condition }));
    for (const [name, costs] of measured) cells.get(name)?.push(medianOf(costs));
  }
  console.log(
    `\n| ${condition}: µs per row, median [least-most] (WAL bytes per row) | ${counts.map(({ batch }) => `batch ${batch}`).join(" | ")} |`,
  );
  for (const [name, line] of cells) console.log(`| ${name} | ${line.join(" | ")} |`);
}

interface Cost {
  micros: number;
  walBytes: number;
}

function shuffled<T>(items: T[]): T[] {
  const placed = items.map((item) => ({ item, place: Math.random() }));
  return placed.toSorted((a, b) => a.place - b.place).map(({ item }) => item);
}

function medianOf(costs: Cost[]): string {
  const sorted = costs.toSorted((a, b) => a.micros - b.micros);
  const { micros, walBytes } = sorted[Math.floor(sorted.length / 2)] ?? { micros: 0, walBytes: 0 };
  return `${micros.toFixed(1)} [${sorted[0]?.micros.toFixed(0)}-${sorted.at(-1)?.micros.toFixed(0)}] (${walBytes.toFixed(0)})`;
}

async function cost(sql: postgres.Sql, system: QueueSystem, size: { batch: number; rows: number; condition: string }): Promise<Cost> {
  const { batch, rows, condition } = size;
  await system.fill(rows);
  if (condition === "vacuumed") await sql`vacuum analyze`;
  await sql`checkpoint`;
  const [before] = await sql`select pg_current_wal_insert_lsn() as lsn`;
  const startedAt = performance.now();
  await system.drain(rows, batch);
  const micros = ((performance.now() - startedAt) * 1000) / rows;
  const [after] = await sql`select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), ${before?.lsn}::pg_lsn)::float8 as bytes`;
  return { micros, walBytes: Number(after?.bytes) / rows };
}

/** The same drain without and with a transaction that was open before it: no old version of a row can be removed meanwhile. */
async function beside(sql: postgres.Sql, adminUrl: string, systems: QueueSystem[], rows: number): Promise<void> {
  console.log(`\n| ${rows.toLocaleString("en")} rows, batch 50 | rows/s | beside an open transaction | loss |`);
  for (const system of systems) {
    const rate = async () => {
      await system.fill(rows);
      await sql`vacuum analyze`;
      const holder = postgres(adminUrl, { max: 1, onnotice: () => {} });
      return { holder, drain: async () => (rows * 1000) / (await timed(() => system.drain(rows, 50))) };
    };
    const free = await rate();
    const freeRate = await free.drain();
    await free.holder.end();
    const held = await rate();
    const { promise: over, resolve: end } = Promise.withResolvers<void>();
    const holding = held.holder.begin("isolation level repeatable read", async (tx) => {
      await tx`select count(*) from pg_class`;
      await over;
    });
    const heldRate = await held.drain();
    end();
    await holding;
    await held.holder.end();
    const loss = Math.max(0, 1 - heldRate / freeRate) * 100;
    console.log(`| ${system.name} | ${freeRate.toFixed(0)} | ${heldRate.toFixed(0)} | ${loss.toFixed(0)} % |`);
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** A claim of 50 with growing backlogs behind it; each is rolled back, so that all see the same. */
async function latency(sql: postgres.Sql, { siteUuid, saleId }: { siteUuid: SiteUuid; saleId: string }): Promise<void> {
  console.log("\n| backlog | claim of 50: p50 ms | p99 ms |");
  let waiting = 0;
  for (const backlog of [1_000, 100_000, 1_000_000].filter((size) => size <= Number(options.backlog))) {
    for (; waiting < backlog; waiting += Math.min(100_000, backlog - waiting))
      await copyRows(sql, saleId, Math.min(100_000, backlog - waiting), { halfDeferred: false });
    await sql`vacuum analyze`; // or autovacuum does it, and a checkpoint writes, while we measure
    await sql`checkpoint`;
    const taken: number[] = [];
    for (let run = 0; run < 1010; run++) {
      const undo = new Error("rolled back on purpose");
      await sql
        .begin(async (tx) => {
          const startedAt = performance.now();
          await tx`select public.claim_offline_conversion_jobs_v2(${siteUuid}, 'google_ads', 50)`;
          if (run >= 10) taken.push(performance.now() - startedAt);
          throw undo;
        })
        .catch((error: unknown) => {
          if (error !== undo) throw error;
        });
    }
    taken.sort((a, b) => a - b);
    console.log(`| ${backlog.toLocaleString("en")} | ${taken[500]?.toFixed(2)} | ${taken[990]?.toFixed(2)} |`);
  }
}
