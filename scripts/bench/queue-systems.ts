import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import postgres from "postgres";
import { claimedRows, type PackedClaim } from "#lib/delivery/claimed-rows.ts";
import { copyRows } from "#tests/fixtures/bulk-rows.ts";
import type { Team } from "#tests/fixtures/team.ts";

export const workerCount = 4;

/** Something that hands out jobs and records that they are done. */
export interface QueueSystem {
  name: string;
  fill(rows: number): Promise<void>;
  /** Claims and settles `rows` jobs with four workers, `batch` at a time. */
  drain(rows: number, batch: number): Promise<void>;
  stop(): Promise<void>;
}

/** Four loops that take batches until together they have had enough. */
async function race(rows: number, takeBatch: (worker: number, left: number) => Promise<number>): Promise<void> {
  let left = rows;
  const loop = async (worker: number) => {
    while (left > 0) {
      const taken = await takeBatch(worker, left);
      if (taken === 0) return;
      left -= taken;
    }
  };
  await Promise.all(Array.from({ length: workerCount }, (_value, worker) => loop(worker)));
}

interface Scene {
  adminUrl: string;
  appUrl: string;
  team: Team;
  saleId: string;
}

interface BenchClaim extends PackedClaim<{ id: string }> {
  token: string;
  batch: { credentialsVersion: number };
  last: Record<string, string> | null;
}

/** How our worker does it: it answers a batch and claims the next one in one call. */
export function ours({ adminUrl, appUrl, team, saleId }: Scene): QueueSystem {
  const { app, admin, stop } = connect(adminUrl, appUrl);
  return {
    name: "OpsMantik, in one call",
    fill: (rows) => copyRows(admin, saleId, rows, { halfDeferred: false }),
    drain: (rows, batch) => {
      const open = new Map<number, BenchClaim>();
      return race(rows, async (worker, left) => {
        const claim = open.get(worker) ?? (await claimOf(app, team, Math.min(batch, left)));
        const ids = claimedRows(claim).map(({ id }) => id);
        if (ids.length === 0) return 0;
        const [row] = await app<{ answer: { left: number; claim: BenchClaim | null } }[]>`
          select public.settle_and_claim_conversion_jobs(${team.siteUuid}, 'google_ads', ${claim.token},
            ${app.json({ transport: "data_manager", requestId: claim.token })}, ${app.json(factsOf(claim))}, ${batch}, 5,
            ${claim.last ? app.json(claim.last) : null}) as answer`;
        if (row?.answer.left !== 0) throw new Error(`${row?.answer.left} rows were not settled`);
        open.delete(worker);
        if (row.answer.claim) open.set(worker, row.answer.claim);
        return ids.length;
      });
    },
    stop,
  };
}

/** The same in two calls: what a worker does after a failure, and what rivals offer. */
export function oursApart({ adminUrl, appUrl, team, saleId }: Scene): QueueSystem {
  const { app, admin, stop } = connect(adminUrl, appUrl);
  return {
    name: "OpsMantik, claim and answer apart",
    fill: (rows) => copyRows(admin, saleId, rows, { halfDeferred: false }),
    drain: (rows, batch) =>
      race(rows, async () => {
        const claim = await claimOf(app, team, batch);
        const ids = claimedRows(claim).map(({ id }) => id);
        if (ids.length > 0)
          await app`select public.settle_and_claim_conversion_jobs(${team.siteUuid}, 'google_ads', ${claim.token},
            ${app.json({ transport: "data_manager", requestId: claim.token })}, ${app.json(factsOf(claim))})`;
        return ids.length;
      }),
    stop,
  };
}

function connect(adminUrl: string, appUrl: string) {
  const app = postgres(appUrl, { max: workerCount, onnotice: () => {} });
  const admin = postgres(adminUrl, { max: 1, onnotice: () => {} });
  return { app, admin, stop: async () => void (await Promise.all([app.end(), admin.end()])) };
}

async function claimOf(app: postgres.Sql, team: Team, limit: number): Promise<BenchClaim> {
  const [row] = await app<{ claim: BenchClaim }[]>`
    select public.claim_offline_conversion_jobs_v2(${team.siteUuid}, 'google_ads', ${limit}) as claim`;
  if (!row) throw new Error("A claim gave no answer.");
  return row.claim;
}

const factsOf = ({ batch }: BenchClaim) => ({
  provider: "google_ads",
  outcome: "success",
  credentialsVersion: batch.credentialsVersion,
  durationMs: 1,
});

/** The least that any queue on Postgres can do: two updates of each row by its key. Nothing is recorded, nothing can fail. */
export function floor(adminUrl: string): QueueSystem {
  const sql = postgres(adminUrl, { max: workerCount, onnotice: () => {} });
  let next = 1;
  return {
    name: "floor: two updates by key",
    async fill(rows) {
      await sql`create table if not exists public.bench_floor (id int primary key generated always as identity, state int not null default 0, payload text)
        with (fillfactor = 50)`;
      const [made] =
        await sql`with made as (insert into public.bench_floor (payload) select repeat('x', 160) from generate_series(1, ${rows}::int) returning id)
        select min(id)::int as first from made`;
      next = made?.first ?? 1; // the last drain may have counted past its rows: its workers stop when all are taken
      await sql`analyze public.bench_floor`;
    },
    drain: (rows, batch) =>
      race(rows, async () => {
        const ids = Array.from({ length: batch }, (_value, index) => next + index);
        next += batch;
        await sql`update public.bench_floor set state = 1 where id = any (${ids})`;
        await sql`update public.bench_floor set state = 2 where id = any (${ids})`;
        return batch;
      }),
    stop: () => sql.end(),
  };
}

const rivals = createRequire(new URL("./rivals/package.json", import.meta.url));
export const hasRivals = () => existsSync(new URL("./rivals/node_modules", import.meta.url));
// Installed apart from the app, so the compiler cannot know them.
// biome-ignore lint/suspicious/noExplicitAny: see above
const load = (name: string): Promise<any> => import(pathToFileURL(rivals.resolve(name)).href);

export async function pgBoss(connectionString: string): Promise<QueueSystem> {
  const module = await load("pg-boss");
  const boss = new (module.PgBoss ?? module.default)({ connectionString, supervise: false, schedule: false, max: workerCount });
  boss.on("error", console.error);
  await boss.start();
  await boss.createQueue("bench");
  const job = { data: { payload: "x".repeat(160) } };
  return {
    name: "pg-boss 12.35",
    async fill(rows) {
      for (let made = 0; made < rows; made += 5000) await boss.insert("bench", Array(Math.min(5000, rows - made)).fill(job));
    },
    drain: (rows, batch) =>
      race(rows, async () => {
        const jobs: { id: string }[] = await boss.fetch("bench", { batchSize: batch });
        if (jobs.length > 0)
          await boss.complete(
            "bench",
            jobs.map(({ id }) => id),
          );
        return jobs.length;
      }),
    stop: () => boss.stop({ graceful: false }),
  };
}

/** Its own runner, since it offers no claim by hand: a local queue of `batch` jobs, and completions sent together. */
export async function graphileWorker(connectionString: string): Promise<QueueSystem> {
  const { run, makeWorkerUtils, Logger } = await load("graphile-worker");
  const logger = new Logger(() => () => {}); // it would print a line for each job
  const utils = await makeWorkerUtils({ connectionString, logger });
  await utils.migrate();
  const job = { identifier: "bench", payload: { payload: "x".repeat(160) } };
  return {
    name: "graphile-worker 0.18",
    async fill(rows) {
      for (let made = 0; made < rows; made += 5000) await utils.addJobs(Array(Math.min(5000, rows - made)).fill(job));
    },
    async drain(rows, batch) {
      let left = rows;
      const { promise: drained, resolve } = Promise.withResolvers<void>();
      const bench = async () => {
        left -= 1;
        if (left === 0) resolve();
      };
      const worker = {
        concurrentJobs: workerCount,
        pollInterval: 100,
        ...(batch > 1 && { localQueue: { size: batch }, completeJobBatchDelay: 0 }),
      };
      const runner = await run({ connectionString, logger, taskList: { bench }, noHandleSignals: true, preset: { worker } });
      await drained;
      await runner.stop(); // waits until the last completions are written
    },
    stop: () => utils.release(),
  };
}
