/**
 * How fast the gate is, compared with bare routes, in one run with interleaved rounds: node scripts/bench/ingest.ts
 *   --seconds 1      length of one burst          --rounds 5        bursts of each kind and number of connections
 *   --connections 16,32,64
 *   --rows 5000000   fills ingest_idempotency first, in this run's throw-away database, and compares p99 before and after
 * Load, app, Redis and Postgres share this machine: read the ratios, not the absolute figures. A ratio is taken within each round,
 * from bursts seconds apart, and the median of the rounds is shown: what else the machine does meanwhile slows both alike. On a busy machine
 * that is not enough; the CPU time of app and Postgres per request says the same with less noise.
 */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import postgres from "postgres";
import { createSite, type Site, setCeilings } from "#tests/fixtures/site.ts";
import { createPerson } from "#tests/fixtures/team.ts";
import { startApp } from "../local/app/app-server.ts";
import { buildApp } from "../local/app/build-app.ts";
import { freePort } from "../local/process/free-port.ts";
import { startStack } from "../local/stack.ts";
import { buildBareApp } from "./bare-app.ts";
import { cpuMs } from "./cpu.ts";
import type { LoadOrder, LoadResult } from "./load.ts";
import { onStage, type Stage } from "./stage.ts";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "1" },
    rounds: { type: "string", default: "5" },
    rows: { type: "string", default: "0" },
    connections: { type: "string", default: "16,32,64" },
  },
});
const seconds = Number(options.seconds);
const rounds = Number(options.rounds);
const connectionCounts = options.connections.split(",").map(Number);
const origin = "https://bench.test";

interface BurstResult extends LoadResult {
  /** CPU time of the apps and of Postgres during the burst. */
  cpuMs: number;
}

interface Rung {
  name: string;
  kind: LoadOrder["kind"];
  url: string;
}

await onStage(bench);

async function bench({ stateDir, stopList }: Stage): Promise<void> {
  const [appPort, barePort, sinkPort] = [await freePort(), await freePort(), await freePort()];
  const appUrl = `http://127.0.0.1:${appPort}`;
  const bareUrl = `http://127.0.0.1:${barePort}`;
  // Durable as in production: every commit is flushed.
  const stack = await startStack({ mode: "demo", stateDir, logDir: stateDir, siteUrl: appUrl, quiet: true });
  stopList.add(stack.stop);
  await buildApp(stack.watchdog);
  const bareDir = buildBareApp();
  const sql = postgres(stack.adminUrl, { max: 2, onnotice: () => {} });
  stopList.add(() => sql.end());
  const site = await prepareSite(sql);

  // Wake-ups go nowhere: the worker runs elsewhere in production, and is measured by itself at the end.
  const env = { ...stack.env, APP_URL: `http://127.0.0.1:${sinkPort}`, TRUSTED_PROXY: "1" };
  const common = { watchdog: stack.watchdog, env };
  const app = await startApp({ ...common, port: appPort, url: appUrl, logPath: join(stateDir, "app.log") });
  stopList.add(app.stop);
  const bareEnv = { ...stack.env, BENCH_DATABASE_URL: stack.adminUrl, BENCH_SITE_ID: site.siteUuid };
  const bare = await startApp({ ...common, env: bareEnv, port: barePort, url: bareUrl, logPath: join(stateDir, "bare.log"), cwd: bareDir });
  stopList.add(bare.stop);

  const rungs: Rung[] = [
    { name: "INSERT through the driver", kind: "driver", url: "" },
    { name: "bare Next route + INSERT", kind: "single", url: `${bareUrl}/api/insert` },
    { name: "the same + one Upstash call", kind: "single", url: `${bareUrl}/api/upstash-insert` },
    { name: "/api/sync, single events", kind: "single", url: `${appUrl}/api/sync` },
    { name: "/api/sync, batches of 20", kind: "batch", url: `${appUrl}/api/sync` },
    { name: "/api/sync, duplicates", kind: "duplicate", url: `${appUrl}/api/sync` },
  ];
  const order = { databaseUrl: stack.adminUrl, ...site, origin };
  for (const rung of rungs) await load({ ...order, ...rung, connections: 32, seconds: 3 });

  const pids = [app.pid, bare.pid, ...stack.pids.slice(0, 1)];
  const results = new Map<string, BurstResult[]>();
  const resultsOf = (rung: string, connections: number) => results.get(`${rung} @${connections}`) ?? [];
  for (let round = 0; round < rounds; round++) {
    for (const connections of connectionCounts) {
      for (const rung of rungs) {
        const cpuBefore = cpuMs(pids);
        const result = await load({ ...order, ...rung, connections, seconds });
        const measured = { ...result, cpuMs: cpuMs(pids) - cpuBefore };
        results.set(`${rung.name} @${connections}`, [...resultsOf(rung.name, connections), measured]);
      }
    }
  }
  for (const connections of connectionCounts) {
    console.log(`\n${connections} connections`.padEnd(36), "     req/s   events/s   p50 ms   p99 ms   failed   CPU ms/request");
    for (const { name } of rungs) print(name, median(resultsOf(name, connections)), cpuPerRequest(resultsOf(name, connections)));
    printRatios((rung) => resultsOf(rung, connections));
  }
  if (Number(options.rows) > 0) await compareWithRows(sql, Number(options.rows), { ...order, kind: "single", url: `${appUrl}/api/sync` });
  await measureWorker(sql, appUrl, stack.cronSecret);
}

async function prepareSite(sql: postgres.Sql): Promise<Site> {
  const owner = await createPerson(sql, "owner@bench.test");
  const site = await createSite(sql, owner, { name: "bench" });
  await setCeilings(sql, { siteId: site.siteId, owner });
  await sql`create table public.bench_rows (
    site_id uuid not null references public.sites (id) on delete cascade, idempotency_key bytea not null,
    created_at timestamptz not null, expires_at timestamptz not null, primary key (site_id, idempotency_key))`;
  await sql`create index on public.bench_rows (expires_at)`;
  return site;
}

async function load(order: LoadOrder): Promise<LoadResult> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, "load.ts"), JSON.stringify(order)]);
  return JSON.parse(stdout);
}

interface Measured {
  requestsPerSecond: number;
  eventsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  failures: number;
}

function middle(figures: number[]): number {
  const sorted = figures.toSorted((one, other) => one - other);
  return ((sorted[Math.floor((sorted.length - 1) / 2)] ?? 0) + (sorted[Math.ceil((sorted.length - 1) / 2)] ?? 0)) / 2;
}

function requestsPerSecond(result: LoadResult): number {
  return result.requests / result.seconds;
}

function eventsPerSecond(result: LoadResult): number {
  return result.events / result.seconds;
}

function median(results: LoadResult[]): Measured {
  return {
    requestsPerSecond: middle(results.map(requestsPerSecond)),
    eventsPerSecond: middle(results.map(eventsPerSecond)),
    p50Ms: middle(results.map((result) => result.p50Ms)),
    p99Ms: middle(results.map((result) => result.p99Ms)),
    failures: results.reduce((sum, result) => sum + result.failures, 0),
  };
}

function cpuPerRequest(results: BurstResult[]): number {
  const sum = (read: (result: BurstResult) => number) => results.reduce((total, result) => total + read(result), 0);
  return sum((result) => result.cpuMs) / sum((result) => result.requests + result.failures);
}

function print(name: string, { requestsPerSecond, eventsPerSecond, p50Ms, p99Ms, failures }: Measured, cpu?: number): void {
  const figures = [
    requestsPerSecond.toFixed(0).padStart(10),
    eventsPerSecond.toFixed(0).padStart(11),
    p50Ms.toFixed(1).padStart(9),
    p99Ms.toFixed(1).padStart(9),
  ];
  console.log(name.padEnd(34), ...figures, String(failures).padStart(8), ...(cpu ? [cpu.toFixed(2).padStart(16)] : []));
}

function printRatios(resultsOf: (rung: string) => BurstResult[]): void {
  const [bare = [], withUpstash = [], single = [], batch = [], duplicate = []] = [
    "bare Next route + INSERT",
    "the same + one Upstash call",
    "/api/sync, single events",
    "/api/sync, batches of 20",
    "/api/sync, duplicates",
  ].map(resultsOf);
  const show = (label: string, above: LoadResult[], below: LoadResult[], goal: string, read = requestsPerSecond) => {
    const ratios = above.map((result, round) => read(result) / read(below[round] ?? result));
    const spread = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
    console.log(`  ${label.padEnd(52)} ${middle(ratios).toFixed(2).padStart(5)}   (${spread}; goal ${goal})`);
  };
  show("single events / bare route with INSERT", single, bare, "0.90");
  show("single events / the same with one Upstash call", single, withUpstash, "1");
  const byCpu = cpuPerRequest(bare) / cpuPerRequest(single);
  console.log(`  ${"bare route with INSERT / single events, by CPU time".padEnd(52)} ${byCpu.toFixed(2).padStart(5)}   (goal 0.90)`);
  show("events/s in batches / single", batch, single, "8", eventsPerSecond);
  show("duplicates / first ones", duplicate, single, "1");
}

/** For this bench only, in a database that is thrown away: rows as the gate would have written them over months. */
async function compareWithRows(sql: postgres.Sql, rows: number, order: Omit<LoadOrder, "connections" | "seconds">): Promise<void> {
  const [before] = await sql`select count(*)::int as n from public.ingest_idempotency`;
  const few = median([await load({ ...order, connections: 32, seconds: 5 }), await load({ ...order, connections: 32, seconds: 5 })]);
  console.log(`\nFilling ingest_idempotency with ${rows.toLocaleString("en")} rows`);
  await sql`insert into public.ingest_idempotency (site_id, idempotency_key, eid, event_name, created_at, expires_at)
    select ${order.siteUuid}, sha256(n::text::bytea), gen_random_uuid()::text, 'interaction/view', at, at + interval '120 days'
    from (select n, now() - make_interval(secs => n::double precision * 60 * 86400 / ${rows}) as at from generate_series(1, ${rows}) n) t`;
  await sql`analyze public.ingest_idempotency`;
  await sql`checkpoint`;
  await load({ ...order, connections: 32, seconds: 5 });
  const many = median([await load({ ...order, connections: 32, seconds: 5 }), await load({ ...order, connections: 32, seconds: 5 })]);
  print(`/api/sync on ${Number(before?.n).toLocaleString("en")} rows`, few);
  print(`/api/sync on ${rows.toLocaleString("en")} rows more`, many);
}

async function measureWorker(sql: postgres.Sql, appUrl: string, cronSecret: string): Promise<void> {
  const startedAt = performance.now();
  const response = await fetch(`${appUrl}/api/cron/ingest/recover`, { headers: { authorization: `Bearer ${cronSecret}` } });
  const { stored } = await response.json();
  const elapsed = (performance.now() - startedAt) / 1000;
  const [left] = await sql`select count(*)::int as n from public.ingest_fallback_buffer where status = 'PENDING'`;
  console.log(
    `\nworker: ${stored} events stored in ${elapsed.toFixed(1)} s (${(stored / elapsed).toFixed(0)} events/s, one worker), ${left?.n} left`,
  );
}
