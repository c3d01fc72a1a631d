import { createHash } from "node:crypto";
import type postgres from "postgres";
import { type CapturedEvent, capturedEvent } from "#lib/ingest/captured-event.ts";
import { storedRow } from "#lib/ingest/drain.ts";

export interface VisitStep extends Partial<CapturedEvent> {
  at: Date;
}

/** A page view of nobody yet. */
export const blankEvent: CapturedEvent = {
  visitor: "",
  category: "interaction",
  action: "view",
  label: null,
  value: null,
  url: "",
  referrer: null,
  device: "mobile",
  country: null,
  city: null,
  utm: {},
  gclid: null,
  wbraid: null,
  gbraid: null,
  ageMs: 0,
  scopes: null,
  trackerVersion: null,
  reporter: "tracker",
  marketingConsent: true,
  marketingDefault: true,
  intentStamp: null,
  phone: null,
};

/**
 * A visit as the tracker would have reported it and the worker stored it, each step at its own time: demo and test data go
 * the way of real events. Gives the ids of the calls, oldest first. A worker may be about: each batch is a transaction of its own,
 * as the worker's are, and what the worker was faster with is waited for.
 */
export async function recordVisit(sql: postgres.Sql, siteId: string, visitor: string, steps: VisitStep[]): Promise<string[]> {
  const stamps = await sql.begin((tx) => admitSteps(tx, siteId, visitor, steps));
  const at = steps.at(-1)?.at ?? new Date();
  for (let looks = 0; looks < 300; looks++) {
    const stored = await sql.begin(async (tx) => {
      await tx`select set_config('opsmantik.now', ${at.toISOString()}, true)`;
      return storeBatch(tx);
    });
    const calls = await callsOf(sql, siteId, stamps);
    if (calls.length === stamps.length && (stamps.length > 0 || stored === 0)) return calls;
    if (stored === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error("The visit was not stored.");
}

/** The same inside a transaction that holds more, where nobody else works. */
export async function recordSteps(tx: postgres.TransactionSql, siteId: string, visitor: string, steps: VisitStep[]): Promise<string[]> {
  const stamps = await admitSteps(tx, siteId, visitor, steps);
  while ((await storeBatch(tx)) > 0);
  return callsOf(tx, siteId, stamps);
}

async function admitSteps(tx: postgres.TransactionSql, siteId: string, visitor: string, steps: VisitStep[]): Promise<string[]> {
  for (const [index, { at, ...given }] of steps.entries()) {
    const event: CapturedEvent = { ...blankEvent, ...given, visitor };
    const name = `${event.category}/${event.action}`;
    const key = createHash("sha256").update(`${visitor}/${index}/${at.toISOString()}/${name}`).digest("hex");
    await tx`select set_config('opsmantik.now', ${at.toISOString()}, true),
      public.admit_events(${siteId}, ${tx.json([{ k: key, e: event.intentStamp, n: name, p: event }])})`;
  }
  return steps.flatMap(({ intentStamp }) => (intentStamp ? [intentStamp] : []));
}

async function callsOf(sql: postgres.ISql, siteId: string, stamps: string[]): Promise<string[]> {
  const calls = await sql<{ id: string }[]>`
    select id from public.calls where site_id = ${siteId} and intent_stamp = any (${stamps}) order by called_at, id`;
  return calls.map(({ id }) => id);
}

/** What the worker does with one batch, in this transaction and at its time. Gives how many events it had. */
async function storeBatch(tx: postgres.TransactionSql): Promise<number> {
  const [claim] = await tx<{ batch: { token: string; rows: { id: string; payload: unknown }[] } }[]>`
    select public.get_and_claim_fallback_batch(500) as batch`;
  if (!claim || claim.batch.rows.length === 0) return 0;
  const rows: ReturnType<typeof storedRow>[] = [];
  for (const { id, payload } of claim.batch.rows) {
    const event = capturedEvent.safeParse(payload);
    if (event.success) rows.push(storedRow(id, event.data));
    else await tx`select public.release_fallback_event(${claim.batch.token}, ${id}, 'The captured payload cannot be read.')`;
  }
  await tx`select public.store_events(${claim.batch.token}, ${tx.json(rows)})`;
  return claim.batch.rows.length;
}
