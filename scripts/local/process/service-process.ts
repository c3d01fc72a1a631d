import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import type { Watchdog } from "./watchdog.ts";

export interface ServiceOptions {
  name: string;
  command: string;
  args: string[];
  env: Record<string, string | undefined>;
  cwd: string;
  watchdog: Watchdog;
  logPath: string;
  user?: { uid: number; gid: number } | undefined;
  /** The polite signal first, then the one that cannot be refused. */
  stopSignals: [NodeJS.Signals, NodeJS.Signals];
}

export interface ServiceProcess {
  pid: number;
  /** Resolves when its output matches; rejects with the end of its output when it ends before. */
  waitForOutput(pattern: RegExp): Promise<void>;
  /** Resolves only when the process ends without having been asked to. */
  died: Promise<Error>;
  onOutput(listener: (text: string) => void): void;
  stop(): Promise<void>;
}

const keptOutputChars = 4_000;
const politeStopMs = 5_000;

/** A child process that is logged to a file, watched, and stopped in order. */
export async function startService(options: ServiceOptions): Promise<ServiceProcess> {
  const { name, command, args, env, cwd, watchdog, logPath, user, stopSignals } = options;
  // Its own session, so that Ctrl-C reaches us alone and we stop the children in order.
  const child = spawn(command, args, { env: childEnv(env), cwd, ...user, stdio: ["ignore", "pipe", "pipe"], detached: true });
  await started(child, name);
  const pid = child.pid ?? 0;
  watchdog.add(pid);

  let output = "";
  let stopping = false;
  const log = createWriteStream(logPath, { flags: "a", mode: 0o600 });
  const outputListeners = new Set<(text: string) => void>();
  const take = (chunk: Buffer) => {
    log.write(chunk);
    const text = chunk.toString("utf8");
    output = (output + text).slice(-keptOutputChars);
    for (const listener of outputListeners) listener(text);
  };
  child.stdout.on("data", take);
  child.stderr.on("data", take);

  const ended = new Promise<string>((resolve) => {
    // "close" rather than "exit": the last lines, which say why, have then been read.
    child.once("close", (code, signal) => {
      watchdog.drop(pid);
      log.end();
      resolve(signal ?? `exit code ${code}`);
    });
  });

  return {
    pid,
    onOutput: (listener) => void outputListeners.add(listener),
    died: new Promise((resolve) => {
      ended.then((how) => {
        if (!stopping) resolve(new Error(`${name} stopped by itself (${how}). Last output:\n${lastLines(output)}`));
      });
    }),
    waitForOutput: (pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (!pattern.test(output)) return;
          outputListeners.delete(check);
          resolve();
        };
        outputListeners.add(check);
        check();
        ended.then((how) => reject(new Error(`${name} did not start (${how}):\n${output.trim()}`)));
      }),
    async stop() {
      stopping = true;
      const [polite, final] = stopSignals;
      signalGroup(pid, polite);
      const timer = setTimeout(() => signalGroup(pid, final), politeStopMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

function lastLines(text: string): string {
  return text.trim().split("\n").slice(-15).join("\n");
}

/** Next's types demand NODE_ENV in every environment; only its own processes need one. */
export function childEnv(variables: Record<string, string | undefined>): NodeJS.ProcessEnv {
  return variables as NodeJS.ProcessEnv;
}

/** The whole group: a dev server has helpers of its own. */
function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // Already gone.
  }
}

/** A missing or forbidden binary is an `error` event, which no try/catch would see. */
function started(child: ChildProcess, name: string): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => reject(new Error(`${name} could not be started: ${error.message}`)));
  });
}
