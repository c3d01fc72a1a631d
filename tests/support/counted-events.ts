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
