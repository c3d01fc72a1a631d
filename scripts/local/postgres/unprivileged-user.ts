import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { isRoot } from "../process/state-dir.ts";

export interface UnixUser {
  uid: number;
  gid: number;
}

/**
 * Whom Postgres runs as when we are root: the owner of existing data, else `postgres` or `nobody`, which every
 * machine has. Nothing is added to the machine. Undefined when we are not root.
 */
export function unprivilegedUser(dataDir: string): UnixUser | undefined {
  if (!isRoot()) return undefined;
  const owner = statSync(dataDir, { throwIfNoEntry: false });
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (const name of ["postgres", "nobody"]) {
    const uid = idOf("-u", name);
    const gid = idOf("-g", name);
    if (uid !== undefined && gid !== undefined) return { uid, gid };
  }
  throw new Error("Postgres does not run as root, and this machine has neither a user postgres nor nobody.");
}

function idOf(flag: "-u" | "-g", name: string): number | undefined {
  try {
    return Number(execFileSync("id", [flag, name], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  } catch {
    return undefined;
  }
}
