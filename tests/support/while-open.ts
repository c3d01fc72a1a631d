import type postgres from "postgres";

/**
 * Forces the interleaving: `first` has run but not committed when `second` starts, and commits only once `second` waits for it.
 * Gives what `second` came to. A `second` that never waits makes the test time out: nothing serialises the two.
 */
export async function whileOpen<T>(
  sql: postgres.Sql,
  first: (tx: postgres.TransactionSql) => Promise<unknown>,
  second: () => Promise<T>,
  end: "commit" | "rollback" = "commit",
): Promise<T> {
  let outcome: Promise<T> | undefined;
  const undo = new Error("rolled back on purpose");
  await sql
    .begin(async (tx) => {
      await first(tx);
      outcome = second();
      outcome.catch(() => undefined); // awaited below
      await untilSomebodyWaits(sql);
      if (end === "rollback") throw undo;
    })
    .catch((error: unknown) => {
      if (error !== undo) throw error;
    });
  return outcome as Promise<T>; // begin() has run its callback
}

/** Resolves once a transaction of this database waits for another; gives up, resolving too, when told to. */
export async function untilSomebodyWaits(sql: postgres.Sql, giveUp?: AbortSignal): Promise<void> {
  while (!giveUp?.aborted) {
    const waiting = await sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    if (waiting.length > 0) return;
  }
}
