import { randomInt } from "node:crypto";
import { createServer } from "node:net";

const firstPort = 10_000;
const firstOutgoingPort = 32_768;
const lastPort = 65_535;

/** The first free port from `preferred` on, or any free one when none is preferred. */
export async function freePort(preferred?: number): Promise<number> {
  if (preferred === undefined) return anyFreePort();
  for (let port = preferred; port <= Math.min(preferred + 100, lastPort); port++) {
    if (await isFree(port)) return port;
  }
  throw new Error(`No free port between ${preferred} and ${preferred + 100}.`);
}

/** "localhost" may mean either address, so a port counts as free only when it is on both. */
async function isFree(port: number): Promise<boolean> {
  return (await canListen(port, "127.0.0.1")) && (await canListen(port, "::1"));
}

function canListen(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    // A machine without IPv6 answers EADDRNOTAVAIL or EAFNOSUPPORT: nobody else can be there either.
    probe.once("error", (error: NodeJS.ErrnoException) => resolve(error.code !== "EADDRINUSE" && error.code !== "EACCES"));
    probe.listen(port, host, () => probe.close(() => resolve(true)));
  });
}

/**
 * Any free port below those that the system gives to outgoing connections (32768 and up on Linux, 49152 elsewhere): one
 * of those could become a connection's own port between this look and the server's start, or while that server is down.
 */
async function anyFreePort(): Promise<number> {
  for (;;) {
    const port = randomInt(firstPort, firstOutgoingPort);
    if (given.has(port) || !(await isFree(port))) continue;
    given.add(port);
    return port;
  }
}

/** What this process gave away; perhaps nobody listens there yet. */
const given = new Set<number>();
