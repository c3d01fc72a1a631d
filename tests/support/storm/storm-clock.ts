import type postgres from "postgres";
import type { GoogleClient } from "#tests/fixtures/worker/google-client.ts";

/**
 * One clock for everybody: the database, the simulator and the workers. It goes on by itself and is set ahead in steps, so that verdicts,
 * leases and backoff need no waiting. The database's stands still between two steps: it is a setting of the server, which reaches every
 * session that is open.
 */
export interface StormClock {
  /** How far it is ahead of real time. */
  offsetMs(): number;
  now(): Date;
  advance(minutes: number): Promise<void>;
}

export async function startStormClock(sql: () => postgres.Sql, google: GoogleClient): Promise<StormClock> {
  let offsetMs = 0;
  const now = () => new Date(Date.now() + offsetMs);
  const tellDatabase = async () => {
    const moment = now().toISOString();
    await sql().unsafe(`alter system set opsmantik.now = '${moment}'`);
    await sql()`select pg_reload_conf()`;
    // The server tells its sessions a moment later.
    while ((await sql()`select current_setting('opsmantik.now', true) as moment`)[0]?.moment !== moment);
  };
  await tellDatabase();
  return {
    offsetMs: () => offsetMs,
    now,
    async advance(minutes) {
      offsetMs += minutes * 60_000;
      await google.advance(minutes * 60); // first, so that nothing we send is ahead of Google's time
      await tellDatabase();
    },
  };
}
