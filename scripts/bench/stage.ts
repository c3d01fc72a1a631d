import { rmSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { prepareDatabase, urlAs } from "../local/postgres/database.ts";
import { startPostgres } from "../local/postgres/postgres.ts";
import { loadSecrets } from "../local/process/secrets.ts";
import { temporaryStateDir } from "../local/process/state-dir.ts";
import { StopList } from "../local/process/stop-list.ts";
import { startWatchdog } from "../local/process/watchdog.ts";

/** Where a benchmark keeps its files, and what must be stopped after it. */
export interface Stage {
  stateDir: string;
  stopList: StopList;
}

/** Runs a benchmark and leaves nothing behind, however it ends. */
export async function onStage(bench: (stage: Stage) => Promise<void>): Promise<void> {
  const stopList = new StopList();
  const stateDir = temporaryStateDir();
  stopList.add(async () => rmSync(stateDir, { recursive: true, force: true }));
  try {
    await bench({ stateDir, stopList });
  } finally {
    await stopList.stopAll();
  }
}

/** A Postgres of its own with our migrations; every commit is flushed, as in production. */
export async function startDatabase({ stateDir, stopList }: Stage): Promise<{ sql: postgres.Sql; adminUrl: string; appUrl: string }> {
  const watchdog = startWatchdog();
  stopList.add(async () => watchdog.end());
  const secrets = await loadSecrets(stateDir);
  const logPath = join(stateDir, "bench.log");
  const { adminUrl, stop } = await startPostgres({
    dataDir: join(stateDir, "postgres"),
    password: secrets.postgresPassword,
    watchdog,
    logPath,
  });
  stopList.add(stop);
  const options = { databaseUrl: adminUrl, siteUrl: "http://127.0.0.1", keys: secrets, logPath };
  const { gateway } = await prepareDatabase(options, secrets.appDatabasePassword);
  await gateway.stop();
  const sql = postgres(adminUrl, { max: 2, onnotice: () => {} });
  stopList.add(() => sql.end());
  return { sql, adminUrl, appUrl: urlAs(adminUrl, "opsmantik_app", secrets.appDatabasePassword) };
}
