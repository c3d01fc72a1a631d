import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { childEnv } from "../process/service-process.ts";
import { checkoutDir, localDir } from "../process/state-dir.ts";
import type { Watchdog } from "../process/watchdog.ts";
import { nextBinary } from "./app-server.ts";

const nextDir = join(checkoutDir, ".next");
const buildIdPath = join(nextDir, "BUILD_ID");
const stampPath = () => join(localDir(), "build-stamp.json");

/** Everything the build reads: the app's folders and the settings beside them. */
const sourcePatterns = ["{app,components,lib,public}/**", "*.{ts,mjs,js}", "package.json", "package-lock.json", "tsconfig.json"];

/** Builds the app unless the last build was of the very same sources. Says which of the two it did. */
export async function buildApp(watchdog: Watchdog): Promise<"built" | "unchanged"> {
  const sources = sourceHash();
  if (isStamped(sources)) return "unchanged";
  rmSync(stampPath(), { force: true });
  let { succeeded, output } = await runBuild(watchdog);
  if (!succeeded) {
    // Next can keep a failure in its cache, so a failed build gets one more chance from nothing.
    rmSync(nextDir, { recursive: true, force: true });
    ({ succeeded, output } = await runBuild(watchdog));
  }
  if (!succeeded) throw new Error(`The app does not build:\n${output}`);
  writeFileSync(stampPath(), JSON.stringify({ sources, buildId: readFileSync(buildIdPath, "utf8") }));
  return "built";
}

/** The build id ties the stamp to the folder: another build or a deleted one does not count. */
function isStamped(sources: string): boolean {
  if (!existsSync(stampPath()) || !existsSync(buildIdPath)) return false;
  const stamp: unknown = JSON.parse(readFileSync(stampPath(), "utf8"));
  return JSON.stringify(stamp) === JSON.stringify({ sources, buildId: readFileSync(buildIdPath, "utf8") });
}

function sourceHash(): string {
  const hash = createHash("sha256");
  for (const path of globSync(sourcePatterns, { cwd: checkoutDir }).toSorted()) {
    const fullPath = join(checkoutDir, path);
    if (path.endsWith("next-env.d.ts") || !statSync(fullPath).isFile()) continue;
    hash.update(`${path}\0`).update(readFileSync(fullPath)).update("\0");
  }
  return hash.digest("hex");
}

function runBuild(watchdog: Watchdog): Promise<{ succeeded: boolean; output: string }> {
  return new Promise((resolve, reject) => {
    const env = childEnv({ ...process.env, NODE_ENV: "production", NEXT_TELEMETRY_DISABLED: "1" });
    const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
    // Its own group, watched: a build that outlives a cancelled demo would hold Next's lock on .next.
    const child = spawn(process.execPath, [nextBinary, "build"], { cwd: checkoutDir, env, stdio, detached: true });
    const pid = child.pid;
    if (pid) watchdog.add(pid);
    let output = "";
    const take = (chunk: Buffer) => {
      output += chunk.toString("utf8");
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.once("error", reject);
    child.once("close", (code) => {
      if (pid) watchdog.drop(pid);
      resolve({ succeeded: code === 0, output });
    });
  });
}
