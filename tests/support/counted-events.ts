import { createHash } from "node:crypto";
import type postgres from "postgres";

/** Calls a service function at a given moment and gives its jsonb answer. */
export async function callAt<T = Record<string, unknown>>(
  sql: postgres.Sql,
  at: string,
  call: (tx: postgres.TransactionSql) => postgres.PendingQuery<postgres.Row[]>,
): Promise<T> {
  const [row] = await sql.begin(async (tx) => {
    await tx`select set_config('opsmantik.now', ${at}, true)`;
    return call(tx);
  });
  return Object.values(row ?? {})[0];
}

const hex = (text: string) => createHash("sha256").update(text).digest("hex");

interface Admitting {
  siteId: string;
  at: string;
  /** Names the events: the same name is the same events. */
  name: string;
  count?: number;
  eventName?: string;
}

/** Events through the product's own gate, at a given moment. */
export async function admitAt(
  sql: postgres.Sql,
  { siteId, at, name, count = 1, eventName = "interaction/view" }: Admitting,
): Promise<string[]> {
  const results: string[] = [];
  for (let from = 0; from < count; from += 100) {
    const events = Array.from({ length: Math.min(100, count - from) }, (_, index) => ({
      k: hex(`${siteId}/${name}/${from + index}`),
      e: null,
      n: eventName,
      p: {},
    }));
    const answer = await callAt<{ results: string[] }>(sql, at, (tx) => tx`select public.admit_events(${siteId}, ${tx.json(events)})`);
    results.push(...answer.results);
  }
  return results;
}

interface AdmittingMany {
  siteId: string;
  from: string;
  batches: number;
  secondsApart: number;
}

/** Batches of 100 events, one after the other, by a single statement that calls the gate for each. */
export async function admitMany(sql: postgres.Sql, { siteId, from, batches, secondsApart }: AdmittingMany): Promise<void> {
  await sql`select set_config('opsmantik.now', (${from}::timestamptz + n * ${secondsApart}::int * interval '1 second')::text, true),
      public.admit_events(${siteId}, (
        select jsonb_agg(jsonb_build_object('k', encode(sha256(convert_to(concat_ws('/', ${siteId}::text, ${from}::text, n, e), 'UTF8')), 'hex'),
          'e', null, 'n', 'interaction/view', 'p', '{}'::jsonb)) from generate_series(1, 100) e))
    from generate_series(0, ${batches - 1}::int) n`;
}

/** Makes the invoices of a month, step by step. In a test nothing is open for long, so it waits for what is. */
export async function freezeMonth(
  sql: postgres.Sql,
  at: string,
  month: string | null,
): Promise<Record<string, unknown> & { frozen: number }> {
  for (let frozen = 0; ; ) {
    const answer = await callAt<{ frozen: number; more: boolean; waiting: number }>(
      sql,
      at,
      (tx) => tx`select public.freeze_invoices(${month})`,
    );
    frozen += answer.frozen;
    if (!answer.more && answer.waiting === 0) return { ...answer, frozen };
  }
}
