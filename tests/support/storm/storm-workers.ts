import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { childEnv } from "#scripts/local/process/service-process.ts";
import type { Order, Outcome } from "./worker-in-child.ts";

/** The outcome of an order: it was done, it failed as a cron run can, or the worker died over it. */
export type Result = { end: "done" | "failed"; outcome: Outcome } | { end: "killed" };

interface Worker {
  child: ChildProcess;
  isReady: Promise<void>;
}

/** Workers in processes of their own. A dead one is replaced at once, so that the next round finds it started. */
export class StormWorkers {
  readonly killsAt = new Map<string, number>();
  readonly #env: Record<string, string>;
  readonly #log: number | "ignore";
  readonly #idle: Worker[] = [];
  readonly #all = new Set<ChildProcess>();

  /** `logPath`: where the workers' log goes, for whoever looks for a failure's cause. */
  constructor(env: Record<string, string>, count: number, logPath?: string) {
    this.#env = env;
    this.#log = logPath ? openSync(logPath, "a") : "ignore";
    for (let made = 0; made < count; made++) this.#idle.push(this.#start());
  }

  get kills(): number {
    return [...this.killsAt.values()].reduce((sum, count) => sum + count, 0);
  }

  /** The longest idle worker does the work; `killAfterMs` ends it from outside, wherever it is by then. */
  async run(order: Order, killAfterMs?: number): Promise<Result> {
    const worker = this.#idle.shift() ?? this.#start();
    await worker.isReady;
    const { child } = worker;
    const timer = killAfterMs === undefined ? undefined : setTimeout(() => child.kill("SIGKILL"), killAfterMs);
    const result = await answerOf(child, order);
    clearTimeout(timer);
    // The signal may have crossed the answer on its way.
    if (result.end === "killed" || child.killed) {
      const point = killAfterMs === undefined ? (order.failpoint?.point ?? "by itself") : "anywhere";
      this.killsAt.set(point, (this.killsAt.get(point) ?? 0) + 1);
      this.#all.delete(child);
      this.#idle.push(this.#start());
    } else this.#idle.push(worker);
    return result;
  }

  async stop(): Promise<void> {
    for (const child of this.#all) {
      const exited = once(child, "exit");
      if (child.exitCode === null && child.kill("SIGKILL")) await exited;
    }
    if (typeof this.#log === "number") closeSync(this.#log);
  }

  #start(): Worker {
    const child = fork(join(import.meta.dirname, "worker-in-child.ts"), {
      env: childEnv(this.#env),
      execArgv: [],
      stdio: ["ignore", this.#log, this.#log === "ignore" ? "inherit" : this.#log, "ipc"],
    });
    this.#all.add(child);
    return { child, isReady: once(child, "message").then(() => undefined) };
  }
}

function answerOf(child: ChildProcess, order: Order): Promise<Result> {
  return new Promise((resolve) => {
    const onExit = () => end({ end: "killed" });
    const onMessage = (outcome: Outcome) => end({ end: outcome.ok ? "done" : "failed", outcome });
    const end = (result: Result) => {
      child.off("exit", onExit).off("message", onMessage);
      resolve(result);
    };
    child.once("exit", onExit).once("message", onMessage);
    if (child.exitCode !== null || child.signalCode !== null) end({ end: "killed" });
    else child.send(order, () => {}); // a worker that dies meanwhile is seen by its exit
  });
}
