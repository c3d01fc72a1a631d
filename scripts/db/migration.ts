/** npm run db:migration <name>: after the first release, writes what changed in supabase/schemas as a migration. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { startPostgres } from "../local/postgres/postgres.ts";
import { temporaryStateDir } from "../local/process/state-dir.ts";
import { startWatchdog } from "../local/process/watchdog.ts";
import { isReleased, supabaseDir } from "./supabase-dir.ts";
import { writeMigration } from "./write-migration.ts";

const [, , name = ""] = process.argv;

function refuse(message: string): never {
  console.error(message);
  process.exit(1);
}

if (!isReleased(supabaseDir)) refuse("Nothing is released yet, so the migration is written anew each time: npm run db:render.");
if (!/^[a-z0-9_]+$/.test(name)) refuse("Name what changes in small letters and underscores: npm run db:migration archive_old_leads");

const stateDir = temporaryStateDir();
const watchdog = startWatchdog();
try {
  const options = { dataDir: join(stateDir, "postgres"), password: "scratch", logPath: join(stateDir, "postgres.log") };
  const server = await startPostgres({ ...options, watchdog, ephemeral: true });
  const { fileName, left } = await writeMigration({ serverUrl: server.adminUrl, supabaseDir, name, at: new Date() }).finally(server.stop);
  if (!fileName) console.log("The migrations make what the schemas say. There is nothing to write.");
  else if (left.length === 0) console.log(`supabase/migrations/${fileName} is finished. Next: npm run types:generate`);
  else {
    console.error(`supabase/migrations/${fileName} is not finished. Write by hand what is left, then run this again:`);
    for (const line of left) console.error(`  ${line}`);
    process.exitCode = 1;
  }
} finally {
  watchdog.end();
  rmSync(stateDir, { recursive: true, force: true });
}
