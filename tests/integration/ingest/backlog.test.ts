import type postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { storedRow } from "#lib/ingest/drain.ts";
import type { CapturedEvent } from "#lib/ingest/event-shape.ts";
import { type IngestApp, phoneCall, startIngestApp } from "#tests/support/ingest-app.ts";

let app: IngestApp;
const backlog = 3_000;
const batchSize = 20;

beforeAll(async () => {
  app = await startIngestApp({ worker: "asleep" });
  // Statistics from before the backlog, as they are when one builds up.
  await app.db.sql`alter table public.ingest_fallback_buffer set (autovacuum_enabled = false)`;
  await app.db.sql`alter table public.sessions set (autovacuum_enabled = false)`;
  const site = await app.newSite({ highCeilings: true });
  for (let sent = 0; sent < backlog; sent += 100) {
    const answer = await app.sync(site, { events: Array.from({ length: 100 }, () => phoneCall(site)) });
    expect(answer.status).toBe(200);
  }
});
afterAll(() => app.stop());

/** Rows of a table that a connection has looked at, also those it then passed over; within a transaction the figure only grows. */
async function rowsRead(tx: postgres.Sql | postgres.TransactionSql, table: string): Promise<number> {
  const [row] = await tx`select (seq_tup_read + idx_tup_fetch)::int as n from pg_stat_xact_user_tables
    where schemaname = 'public' and relname = ${table}`;
  return row?.n;
}

async function claim(tx: postgres.Sql | postgres.TransactionSql) {
  const [row] = await tx`select public.get_and_claim_fallback_batch(${batchSize}) as batch`;
  return row?.batch as { token: string; rows: { id: string; payload: CapturedEvent; receivedAt: string }[] };
}

async function store(tx: postgres.Sql | postgres.TransactionSql, { token, rows }: Awaited<ReturnType<typeof claim>>): Promise<void> {
  const values = rows.map(({ id, payload }) => storedRow({ id }, payload));
  await tx`select public.store_events(${token}, ${tx.json(values)})`;
}

// Guarantee: a long backlog is worked off as fast as a short one. Mutation: allow bitmaps.
test("a claim reads the rows it takes, not all that wait", async () => {
  await app.db.sql.begin(async (tx) => {
    const before = await rowsRead(tx, "ingest_fallback_buffer");
    const { rows } = await claim(tx);
    expect(rows).toHaveLength(batchSize);
    expect((await rowsRead(tx, "ingest_fallback_buffer")) - before).toBeLessThan(batchSize * 5);
  });
});

// Guarantee: the thousandth visitor costs a worker no more than the first, although its plans were made when there was none.
// Mutation: in touch_session, drop the order from the look at earlier visits.
test("an event reads its own visitor's sessions, not the site's", async () => {
  const worker = await app.db.sql.reserve();
  try {
    for (let stored = 0; stored < 500; stored += batchSize) await store(worker, await claim(worker));
    const lease = await claim(worker);
    await worker`begin`;
    const before = await rowsRead(worker, "sessions");
    await store(worker, lease);
    expect((await rowsRead(worker, "sessions")) - before).toBeLessThan(batchSize * 5);
    await worker`commit`;
  } finally {
    worker.release();
  }
});
