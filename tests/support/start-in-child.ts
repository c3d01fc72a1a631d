import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { checkoutDir } from "#scripts/local/process/state-dir.ts";

export interface StackInChild {
  child: ChildProcess;
  /** Postgres first, then Redis when it is a real one. */
  pids: number[];
  adminUrl: string;
  env: Record<string, string>;
}

/** A stack in another OS process, which a test may kill without ending itself. */
export async function startInChild(stateDir: string, siteUrl = ""): Promise<StackInChild> {
  const script = join(checkoutDir, "tests/support/stack-in-child.ts");
  const child = spawn(process.execPath, [script, stateDir, ...(siteUrl ? [siteUrl] : [])], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith("{")) return { child, ...JSON.parse(line) };
  }
  throw new Error("The stack did not start in the child process.");
}
