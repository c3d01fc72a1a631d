import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isAlive } from "../process/is-alive.ts";

/**
 * Whether a Postgres runs on this data directory. A lock file left behind by a crash or a restarted container may
 * name a pid that now belongs to something else; Postgres would refuse to start, so such a file is removed.
 */
export function isPostgresRunning(dataDir: string): boolean {
  const lockPath = join(dataDir, "postmaster.pid");
  if (!existsSync(lockPath)) return false;
  const pid = Number(readFileSync(lockPath, "utf8").split("\n")[0]);
  if (!isAlive(pid)) return false;
  const command = commandOf(pid);
  if (command === undefined || command === "postgres") return true;
  rmSync(lockPath, { force: true });
  return false;
}

/** Known on Linux only; elsewhere Postgres's own judgement stands. */
function commandOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return undefined;
  }
}
