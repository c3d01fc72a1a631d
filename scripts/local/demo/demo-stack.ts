import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { surviveLostConnections } from "../gateway/survive-lost-connections.ts";
import { OtherHistoryError } from "../postgres/migrate.ts";
import { isPostgresRunning } from "../postgres/postgres-lock.ts";
import { freePort } from "../process/free-port.ts";
import { isAlive } from "../process/is-alive.ts";
import { step } from "../process/progress.ts";
import { localDir, stateDir } from "../process/state-dir.ts";
import type { StopList } from "../process/stop-list.ts";
import { type Stack, type StackOptions, startStack } from "../stack.ts";
import { connectAsOwner } from "./connect-as-owner.ts";
import { readDemoFile } from "./demo-file.ts";
import { type DemoSeed, seedDemo } from "./seed-demo.ts";

export interface DemoStackOptions {
  preferredPort: number;
  /** Forget all data and secrets first. */
  reset: boolean;
  /** What needs the stack but not its data, and is done while that is made. */
  meanwhile?: (stack: Stack) => Promise<unknown>;
}

const orphanWaitMaxMs = 10_000;

/** The seeded stack that the demo and the dev server share, with its data kept between runs. */
export async function startDemoStack(
  { preferredPort, reset, meanwhile }: DemoStackOptions,
  stopList: StopList,
): Promise<{ stack: Stack; seeded: DemoSeed; port: number; logDir: string }> {
  const dir = stateDir();
  const dataDir = join(dir, "postgres");
  await refuseSecondRun(dataDir);
  if (reset) forgetState(dir);

  const port = await freePort(preferredPort);
  if (port !== preferredPort) console.log(`  Port ${preferredPort} is taken, so this uses ${port}.`);
  const logDir = join(localDir(), "logs");
  const stack = await startOnKeptData({ mode: "demo", stateDir: dir, logDir, siteUrl: `http://localhost:${port}` });
  stopList.add(stack.stop);
  // Somebody who stops Postgres or Redis wants to see how the app reacts.
  surviveLostConnections();
  for (const death of stack.deaths)
    death.then(({ message }) => console.warn(`\n${message}\nThe app goes on without it. Start again to have it back.`));
  const [seeded] = await Promise.all([seedAndConnect(stack), meanwhile?.(stack)]);
  return { stack, seeded, port, logDir };
}

async function seedAndConnect(stack: Stack): Promise<DemoSeed> {
  const seeded = await step("Demo data", () => seedDemo(stack), describeSeed);
  await step("Google Ads", () => connectAsOwner(stack, seeded));
  return seeded;
}

/** Data of another version is not upgraded: it is deleted and made again. */
export async function startOnKeptData(options: StackOptions): Promise<Stack> {
  try {
    return await startStack(options);
  } catch (error) {
    if (!(error instanceof OtherHistoryError)) throw error;
    console.log("  The demo's database comes from another version and is built again.");
    forgetState(options.stateDir);
    return startStack(options);
  }
}

/** Copied binaries are not data and cost half a second to make. */
function forgetState(dir: string): void {
  for (const name of readdirSync(dir)) {
    if (name !== "postgres-binaries") rmSync(join(dir, name), { recursive: true, force: true });
  }
}

function describeSeed({ sites, users }: DemoSeed): string {
  return `${sites.length} sites, ${users.length} users`;
}

async function refuseSecondRun(dataDir: string): Promise<void> {
  const demo = readDemoFile();
  // After a kill -9 the watchdog needs a moment to end the Postgres of the run before.
  const giveUpAt = demo && isAlive(demo.pid) ? 0 : Date.now() + orphanWaitMaxMs;
  while (isPostgresRunning(dataDir)) {
    if (Date.now() > giveUpAt) {
      throw new Error(`OpsMantik is already running here${demo ? ` at ${demo.baseUrl} (process ${demo.pid})` : ""}. Stop that one first.`);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
