import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type ServiceProcess, startService } from "../process/service-process.ts";
import { checkoutDir } from "../process/state-dir.ts";
import type { Watchdog } from "../process/watchdog.ts";

export interface AppOptions {
  port: number;
  /** The address people use; it must lead to the port. */
  url: string;
  env: Record<string, string>;
  watchdog: Watchdog;
  logPath: string;
  /** "start" serves the build, "dev" compiles on demand. */
  command?: "start" | "dev";
  /** The folder of another app than ours. */
  cwd?: string;
}

const healthWaitMaxMs = 90_000;
const healthPollMs = 100;

export const nextBinary = join(checkoutDir, "node_modules/next/dist/bin/next");
/** As `npm start` does. */
const preload = pathToFileURL(join(checkoutDir, "scripts/serve/cut-user-agent.mjs")).href;

/** Starts Next and resolves when /api/health answers 200. */
export async function startApp({
  port,
  url,
  env,
  watchdog,
  logPath,
  command = "start",
  cwd = checkoutDir,
}: AppOptions): Promise<ServiceProcess> {
  const app = await startService({
    name: "The app",
    command: process.execPath,
    args: ["--import", preload, nextBinary, command, "-H", "127.0.0.1", "-p", String(port)],
    env: { ...process.env, NODE_ENV: command === "dev" ? "development" : "production", NEXT_TELEMETRY_DISABLED: "1", ...env },
    cwd,
    watchdog,
    logPath,
    // Open browser connections can hold a polite stop for longer than anyone wants to wait.
    stopSignals: ["SIGTERM", "SIGKILL"],
  });
  try {
    const failed = app.died.then((error) => Promise.reject(error));
    await Promise.race([waitUntilHealthy(`${url}/api/health`), failed]);
    return app;
  } catch (error) {
    await app.stop();
    throw error;
  }
}

async function waitUntilHealthy(healthUrl: string): Promise<void> {
  const giveUpAt = Date.now() + healthWaitMaxMs;
  let lastAnswer = "no answer";
  while (Date.now() < giveUpAt) {
    try {
      const response = await fetch(healthUrl, { signal: AbortSignal.timeout(10_000) });
      if (response.ok) return;
      lastAnswer = `${response.status} ${(await response.text()).slice(0, 500)}`;
    } catch (error) {
      lastAnswer = error instanceof Error ? error.message : String(error);
    }
    await new Promise((resolve) => setTimeout(resolve, healthPollMs));
  }
  throw new Error(`The app did not become healthy: ${lastAnswer}`);
}
