/**
 * Adds to package-lock.json the optional packages of other platforms that the registry in use did not list, and the hash of every
 * entry that has none and that the registry knows. Without the entries `npm ci` stops everywhere with "Missing: … from lock file".
 * Run after every `npm install`.
 * With --check it changes nothing and fails when an entry is missing, or when one that we install and serve from has no hash. npm would
 * install such an entry unchecked. On another machine it names those of its own.
 */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";

interface LockEntry {
  version: string;
  integrity?: string;
  dev?: boolean;
  optional?: boolean;
  optionalDependencies?: Record<string, string>;
  os?: string[];
  cpu?: string[];
  libc?: string[];
}

const osOf: Record<string, string> = {
  darwin: "darwin",
  linux: "linux",
  linuxmusl: "linux",
  win32: "win32",
  windows: "win32",
  android: "android",
  freebsd: "freebsd",
  openharmony: "openharmony",
};
const cpus = ["x64", "arm64", "arm", "ia32", "ppc64", "riscv64", "s390x", "wasm32"];

const lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const packages: Record<string, LockEntry> = lock.packages;

/** Whether `name` resolves from the package at `at`, walking up as Node does. */
function resolves(at: string, name: string): boolean {
  for (let folder = at; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")))) {
    if (packages[`${folder ? `${folder}/` : ""}node_modules/${name}`]) return true;
    if (!folder) return false;
  }
}

/** A placeholder that npm neither downloads nor checks, because its platform never matches. */
function foreignPlatformEntry(name: string, range: string, parent: LockEntry): LockEntry {
  const words = (name.split("/").pop() ?? name).split("-");
  const os = words.map((word) => osOf[word]).find(Boolean);
  const cpu = cpus.find((candidate) => words.includes(candidate));
  const libc = words.some((word) => word.includes("musl")) ? "musl" : words.includes("gnu") ? "glibc" : undefined;
  return {
    version: range.replace(/^[\^~]/, ""),
    ...(parent.dev && { dev: true }),
    optional: true,
    ...(os && { os: [os] }),
    ...(cpu && { cpu: [cpu] }),
    ...(libc && { libc: [libc] }),
  };
}

const missing: string[] = [];
for (const [at, entry] of Object.entries(packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    if (resolves(at, name)) continue;
    missing.push(name);
    packages[`node_modules/${name}`] = foreignPlatformEntry(name, range, entry);
  }
}

const nameOf = (at: string) => at.slice(at.lastIndexOf("node_modules/") + "node_modules/".length);
const unhashed = () => Object.entries(packages).filter(([at, { integrity }]) => at !== "" && !integrity);

/** Whether npm installs it where we build, test and serve: on Linux. */
function isOurs({ optional, os = [], cpu = [] }: LockEntry): boolean {
  if (!optional) return true;
  return os.includes("linux") && (cpu.includes("x64") || cpu.includes("arm64"));
}

/** The hash that the registry states; none where it does not know the package. */
async function askRegistry(name: string, version: string): Promise<string | undefined> {
  const asked = promisify(execFile)("npm", ["view", `${name}@${version}`, "dist.integrity"]);
  return asked.then(({ stdout }) => stdout.trim() || undefined).catch(() => undefined);
}

if (process.argv.includes("--check")) {
  const unchecked = unhashed().filter(([, entry]) => isOurs(entry));
  if (unchecked.length > 0) {
    console.error(`package-lock.json has no integrity for ${unchecked.map(([at]) => nameOf(at)).join(", ")}: run npm run lock:complete`);
    process.exit(1);
  }
  const here = unhashed().filter(([, { os, cpu }]) => os?.includes(process.platform) && cpu?.includes(process.arch));
  if (here.length > 0) {
    console.warn(
      `npm installs ${here.map(([at]) => nameOf(at)).join(", ")} on this machine without checking them: package-lock.json has no integrity for them. npm run lock:complete adds it where the registry knows it.`,
    );
  }
  if (missing.length > 0) {
    console.error(
      `package-lock.json lacks ${missing.length} optional packages (${missing.slice(0, 3).join(", ")}…): run npm run lock:complete`,
    );
    process.exit(1);
  }
} else {
  for (const [at, entry] of unhashed()) {
    const integrity = await askRegistry(nameOf(at), entry.version);
    if (integrity) entry.integrity = integrity;
  }
  lock.packages = Object.fromEntries(Object.entries(packages).sort(([a], [b]) => (a < b ? -1 : 1)));
  writeFileSync("package-lock.json", `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`package-lock.json: ${missing.length} entries of other platforms added, ${unhashed().length} have no integrity`);
}
