import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

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

/** 0755 whatever the umask: the unprivileged Postgres user must be able to pass through. */
export function makeReadable(dir: string): string {
  const firstCreated = mkdirSync(dir, { recursive: true, mode: 0o755 });
  if (firstCreated) chmodSync(dir, 0o755);
  return dir;
}
