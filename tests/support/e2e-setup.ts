/** Starts, once per run, what a browser needs: a seeded stack of its own and the built app, on free ports. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { startApp } from "#scripts/local/app/app-server.ts";
import { buildApp } from "#scripts/local/app/build-app.ts";
import { connectAsOwner } from "#scripts/local/demo/connect-as-owner.ts";
import { describeDemo } from "#scripts/local/demo/demo-file.ts";
import { seedDemo } from "#scripts/local/demo/seed-demo.ts";
import { freePort } from "#scripts/local/process/free-port.ts";
import { memoryStateDir } from "#scripts/local/process/state-dir.ts";
import { StopList } from "#scripts/local/process/stop-list.ts";
import { startStack } from "#scripts/local/stack.ts";
import { e2eActionBatch } from "./e2e-stack.ts";

/**
 * A bulk action over a thousand rows takes several requests. Here a few are many: sealing thousands of leads would take minutes and tell
 * nothing more. Connections that are open already would not know; nobody uses them yet.
 */
async function lowerActionBatch(adminDatabaseUrl: string): Promise<void> {
  const sql = postgres(adminDatabaseUrl, { max: 1, onnotice: () => {} });
  await sql.unsafe(`alter database ${new URL(adminDatabaseUrl).pathname.slice(1)} set opsmantik.action_batch = ${e2eActionBatch}`);
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`;
  await sql.end();
}

export default async function setup(): Promise<() => Promise<void>> {
  const stateDir = memoryStateDir();
  const stopList = new StopList();
  stopList.add(async () => rmSync(stateDir, { recursive: true, force: true }));
  try {
    const port = await freePort();
    const siteUrl = `http://localhost:${port}`;
    const stack = await startStack({ mode: "test", stateDir, logDir: stateDir, siteUrl, quiet: true });
    stopList.add(stack.stop);
    await lowerActionBatch(stack.adminUrl);
    await buildApp(stack.watchdog);
    const seed = await seedDemo(stack);
    await connectAsOwner(stack, seed);
    const logPath = join(stateDir, "app.log");
    const app = await startApp({ port, url: siteUrl, env: { ...stack.env, TRUSTED_PROXY: "1" }, watchdog: stack.watchdog, logPath });
    stopList.add(app.stop);
    // The workers are started after this and inherit the environment.
    process.env.OPSMANTIK_E2E_URL = siteUrl;
    process.env.OPSMANTIK_E2E_STACK = JSON.stringify(describeDemo(stack, seed));
    return () => stopList.stopAll();
  } catch (error) {
    await stopList.stopAll();
    throw error;
  }
}
