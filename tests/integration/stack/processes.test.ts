import { once } from "node:events";
import { readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startPostgres } from "#scripts/local/postgres/postgres.ts";
import { freePort } from "#scripts/local/process/free-port.ts";
import { closeServer, listenLocal } from "#scripts/local/process/local-server.ts";
import { temporaryStateDir } from "#scripts/local/process/state-dir.ts";
import { startWatchdog } from "#scripts/local/process/watchdog.ts";
import { startQstash } from "#scripts/local/qstash/qstash.ts";
import { startInChild } from "#tests/support/start-in-child.ts";

let stateDir = "";
beforeEach(() => {
  stateDir = temporaryStateDir();
});
// A server that just died may still write its last line.
afterEach(() => rmSync(stateDir, { recursive: true, force: true, maxRetries: 10 }));

/** A zombie counts as gone: it waits for a slow init to read its exit code and runs nothing. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

// Guarantee: whatever ends the demo or a test run, no Postgres or Redis keeps running on the user's machine.
test.each(["SIGTERM", "SIGKILL"] as const)("%s of the parent leaves no process behind", async (signal) => {
  const { child, pids } = await startInChild(stateDir);
  expect(pids.map(isRunning)).toEqual(pids.map(() => true));
  child.kill(signal);
  await once(child, "exit");
  await vi.waitFor(() => expect(pids.filter(isRunning)).toEqual([]), { timeout: 20_000, interval: 50 });
});

// Guarantee: data survives a restart, and a second start on the same data is refused instead of corrupting it.
test("a second Postgres on the same data is refused, and the first one's data outlives a restart", async () => {
  const watchdog = startWatchdog();
  const options = { dataDir: join(stateDir, "postgres"), password: "not-a-secret", watchdog, logPath: join(stateDir, "postgres.log") };
  const first = await startPostgres(options);
  await expect(startPostgres(options)).rejects.toThrow(/already running/);
  await first.stop();
  const again = await startPostgres(options);
  await again.stop();
  watchdog.end();
});

// Guarantee: a port that waits for its server, or whose server is down, cannot become some connection's own port.
test("a free port is never one that outgoing connections are given", async () => {
  const ports = await Promise.all(Array.from({ length: 200 }, () => freePort()));
  expect(Math.max(...ports)).toBeLessThan(32_768);
});

// Guarantee: a taken port is a sentence that names it, not a stack trace from an event nobody could catch.
test("a busy port is answered with its number, and the next free one is found", async () => {
  const squatter = createServer();
  const port = Number(new URL(await listenLocal(squatter, "squatter")).port);
  const watchdog = startWatchdog();
  try {
    await expect(startQstash({ port })).rejects.toThrow(`port ${port} is already in use`);
    const options = {
      dataDir: join(stateDir, "postgres"),
      password: "not-a-secret",
      watchdog,
      logPath: join(stateDir, "postgres.log"),
      port,
    };
    await expect(startPostgres(options)).rejects.toThrow(/could not bind/);
    expect(await freePort(port)).toBeGreaterThan(port);
  } finally {
    await closeServer(squatter);
    watchdog.end();
  }
});
