import { createHash } from "node:crypto";
import { accessSync, chmodSync, constants, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { isAlive } from "./is-alive.ts";

export const checkoutDir = resolve(import.meta.dirname, "../../..");

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** `.local/` in the checkout: demo.json, logs and stamps, for whoever runs the stack. */
export function localDir(): string {
  return makeReadable(join(checkoutDir, ".local"));
}

/**
 * Where data and secrets persist. Postgres refuses to run as root, and the user it then runs as cannot enter a
 * private checkout, so root's state lies outside of it, one folder per checkout.
 */
export function stateDir(): string {
  if (!isRoot()) return makeReadable(join(localDir(), "state"));
  const checkoutHash = createHash("sha256").update(checkoutDir).digest("hex").slice(0, 16);
  return makeReadable(join("/var/lib/opsmantik", checkoutHash));
}

/** A throwaway state directory for one test run. */
export function temporaryStateDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "opsmantik-"));
  chmodSync(dir, 0o755);
  return dir;
}

const memory = "/dev/shm";
const memoryNeededBytes = 6 * 1024 ** 3;

/**
 * The same in memory, on machines that have enough of it: a test file's database is a thousand new files, and making and removing them on a
 * disk took a fifth of the tests' CPU time. What a killed run left there is removed by the next.
 */
export function memoryStateDir(): string {
  try {
    accessSync(memory, constants.W_OK);
    for (const left of readdirSync(memory)) {
      const pid = Number(/^opsmantik-(\d+)-/.exec(left)?.[1]);
      if (pid && !isAlive(pid)) rmSync(join(memory, left), { recursive: true, force: true });
    }
    const { bavail, bsize } = statfsSync(memory);
    const freeBytes = Math.min(bavail * bsize, process.availableMemory());
    const mayRun = !/ \/dev\/shm \S+ \S*\bnoexec\b/.test(readFileSync("/proc/mounts", "utf8")); // a copy of Postgres may have to
    if (freeBytes < memoryNeededBytes || !mayRun) return temporaryStateDir();
  } catch {
    return temporaryStateDir(); // not on Linux, or not ours to write
  }
  const dir = mkdtempSync(join(memory, `opsmantik-${process.pid}-`));
  chmodSync(dir, 0o755);
  return dir;
}

/** 0755 whatever the umask: the unprivileged Postgres user must be able to pass through. */
export function makeReadable(dir: string): string {
  const firstCreated = mkdirSync(dir, { recursive: true, mode: 0o755 });
  if (firstCreated) chmodSync(dir, 0o755);
  return dir;
}
