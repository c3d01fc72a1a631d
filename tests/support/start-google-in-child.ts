import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { checkoutDir } from "#scripts/local/process/state-dir.ts";
import type { StopList } from "#scripts/local/process/stop-list.ts";
import { GoogleClient } from "./google.ts";

/** A simulator in another OS process, so that its work is not this one's. */
export async function startGoogleInChild(stateDir: string, stopList: StopList): Promise<GoogleClient> {
  const script = join(checkoutDir, "tests/support/google-in-child.ts");
  const child = spawn(process.execPath, [script, stateDir], { stdio: ["ignore", "pipe", "inherit"] });
  stopList.add(async () => {
    child.kill("SIGKILL");
    await once(child, "exit");
  });
  for await (const url of createInterface({ input: child.stdout })) return new GoogleClient(url);
  throw new Error("The simulator did not start in its child process.");
}
