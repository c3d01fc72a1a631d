import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";
import { childEnv } from "./local/process/service-process.ts";
import { checkoutDir } from "./local/process/state-dir.ts";
import type { Watchdog } from "./local/process/watchdog.ts";

export interface CommandResult {
  succeeded: boolean;
  /** Empty when the output went straight to the terminal. */
  output: string;
}

const running = new Set<number>();
// In a log file colours are noise.
const plainOutput = process.stdout.isTTY || process.env.FORCE_COLOR ? {} : { NO_COLOR: "1" };

/** Runs one of our tools, under the pinned Node. The watchdog ends it should we be killed. */
export function runCommand(
  [name = "", ...args]: string[],
  { watchdog, env = {}, capture = false }: { watchdog: Watchdog; env?: Record<string, string | undefined>; capture?: boolean },
): Promise<CommandResult> {
  const binFolder = join(checkoutDir, "node_modules/.bin");
  const child = spawn(join(binFolder, name), args, {
    cwd: checkoutDir,
    env: childEnv({
      ...process.env,
      ...plainOutput,
      PATH: `${binFolder}${delimiter}${process.env.PATH}`,
      NEXT_TELEMETRY_DISABLED: "1",
      ...env,
    }),
    stdio: ["ignore", capture ? "pipe" : "inherit", capture ? "pipe" : "inherit"],
    detached: true,
  });
  const { pid } = child;
  if (pid) {
    watchdog.add(pid);
    running.add(pid);
  }
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8");
    });
  }
  return new Promise((resolve) => {
    const finish = (succeeded: boolean) => {
      if (pid) {
        watchdog.drop(pid);
        running.delete(pid);
      }
      resolve({ succeeded, output });
    };
    child.once("error", (error) => {
      output += error.message;
      finish(false);
    });
    child.once("close", (code) => finish(code === 0));
  });
}

/** Commands lead their own process groups, so Ctrl-C does not reach them by itself. */
export function stopCommandsOnSignal(): void {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(signal, () => {
      for (const pid of running) process.kill(-pid, signal);
      process.exit(1);
    });
  }
}
