import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { checkoutDir, isRoot } from "./process/state-dir.ts";
import { findRedisServer } from "./redis/redis.ts";

export interface SystemPackages {
  /** Undefined: the in-process fallback is used. */
  redisServer: string | undefined;
  /** Undefined: Playwright's own browser is used, if it could be installed. */
  chromium: string | undefined;
}

/** The shell first: the same engine without a window, which spares a sixth of the processor time. */
const chromiumPaths = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/usr/bin/google-chrome-stable",
  "/snap/bin/chromium",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

export function findChromium(): string | undefined {
  return [process.env.OPSMANTIK_CHROMIUM ?? "", ...chromiumPaths].find((path) => path && existsSync(path));
}

/** Finds what the tests use beside npm packages. Only root on a machine with apt-get installs what is missing. */
export function ensureSystemPackages(): SystemPackages {
  // Without a font Chromium measures every text as empty boxes.
  const missing = [
    ...(findRedisServer() ? [] : ["redis-server"]),
    ...(findChromium() ? [] : ["chromium-headless-shell", "fonts-liberation"]),
  ];
  if (missing.length > 0) install(missing);
  const chromium = findChromium();
  if (!chromium) installPlaywrightBrowser();
  return { redisServer: redisOrFallback(), chromium };
}

/** The demo needs no browser of ours. */
export function ensureRedis(): void {
  if (findRedisServer()) return;
  install(["redis-server"]);
  redisOrFallback();
}

function redisOrFallback(): string | undefined {
  const redisServer = findRedisServer();
  if (!redisServer) console.log("redis-server is not installed: the in-process fallback takes its place.");
  return redisServer;
}

function install(packages: string[]): void {
  if (!isRoot() || !runs("apt-get", ["--version"])) {
    console.log(`To install what is missing: sudo apt-get install ${packages.join(" ")}`);
    return;
  }
  console.log(`Installing ${packages.join(", ")} with apt-get…`);
  if (runs("apt-get", ["update", "-qq"]) && runs("apt-get", ["install", "-y", "-qq", "--no-install-recommends", ...packages])) return;
  console.log("apt-get failed; going on without them.");
}

function installPlaywrightBrowser(): void {
  console.log("No Chromium found: asking Playwright for one…");
  if (runs("npx", ["playwright", "install", "chromium"])) return;
  console.log("Playwright could not download one either. Install Chromium, or set OPSMANTIK_CHROMIUM to its path, for the e2e tests.");
}

/** Quietly, but with the end of the output when it fails: that says what to do. */
function runs(command: string, args: string[]): boolean {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const { status, stderr } = spawnSync(command, args, { cwd: checkoutDir, env, encoding: "utf8" });
  if (status !== 0 && stderr) console.log(stderr.trim().split("\n").slice(-3).join("\n"));
  return status === 0;
}
