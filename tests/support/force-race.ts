import type postgres from "postgres";
import { actAs } from "#tests/fixtures/act-as.ts";

/**
 * Forces the race: `first` has run but not committed when `second` starts, and commits only once `second` waits for a lock.
 * Gives what `second` came to, value or error. A `second` that never waits makes the test time out: nothing serialises the two.
 */
export async function forceRace(
  sql: postgres.Sql,
  firstActor: { id: string },
  first: (tx: postgres.TransactionSql) => Promise<unknown>,
  second: () => Promise<unknown>,
): Promise<unknown> {
  let outcome: Promise<unknown> | undefined;
  await actAs(sql, firstActor.id, async (tx) => {
    await first(tx);
    outcome = second().catch((error: unknown) => error);
    while (!(await somebodyWaits(sql)));
  });
  return outcome;
}

async function somebodyWaits(sql: postgres.Sql): Promise<boolean> {
  const waiting = await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  return waiting.length > 0;
}
