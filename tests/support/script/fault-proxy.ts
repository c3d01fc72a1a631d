import { createServer, type IncomingHttpHeaders } from "node:http";
import { closeServer, listenLocal, readBody } from "#scripts/local/process/local-server.ts";

export interface Fault {
  path: string;
  /** How many requests to the path it meets; all when not given. */
  times?: number;
  /** How many go by before it. */
  after?: number;
  /** Of which requests to the path it meets any. */
  when?: (body: unknown) => boolean;
  does:
    | "drop" // the server never hears of it
    | "lose answer" // the server does what it was asked, and nobody hears of that
    | "expire session" // the session is worth nothing from here on
    | { hold: Held; drops?: boolean } // neither goes on nor comes back until it is let go
    | { status: number; headers?: Record<string, string>; body?: unknown }
    | { tamper: (body: unknown) => unknown };
}

/** A request that stands still: `reached` when it is there, until `letGo`. */
export class Held {
  readonly #reached = Promise.withResolvers<void>();
  readonly #free = Promise.withResolvers<void>();
  readonly reached = this.#reached.promise;
  readonly letGo = () => this.#free.resolve();
  async stand(): Promise<void> {
    this.#reached.resolve();
    await this.#free.promise;
  }
}

interface PassedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: unknown;
}

export interface FaultProxy {
  url: string;
  requests: PassedRequest[];
  faults: Fault[];
  stop(): Promise<void>;
}

/** Stands between a client and a server and lets go wrong what it is told to. */
export async function startFaultProxy(target: () => string): Promise<FaultProxy> {
  const requests: PassedRequest[] = [];
  const faults: Fault[] = [];
  const expired = new Set<string>();
  const server = createServer(async (incoming, outgoing) => {
    const text = (await readBody(incoming)).toString("utf8");
    const { pathname } = new URL(incoming.url ?? "", "http://proxy");
    const body = text ? JSON.parse(text) : null;
    requests.push({ method: incoming.method ?? "", path: pathname, headers: incoming.headers, body });
    const fault = faults.find((one) => one.path === pathname && (one.when?.(body) ?? true) && isDue(one))?.does;
    if (typeof fault === "object" && "hold" in fault) await fault.hold.stand();
    if (fault === "drop" || (typeof fault === "object" && "hold" in fault && fault.drops)) return incoming.socket.destroy();
    if (typeof fault === "object" && "status" in fault) {
      return outgoing
        .writeHead(fault.status, { "content-type": "application/json", ...fault.headers })
        .end(JSON.stringify(fault.body ?? {}));
    }
    const token = incoming.headers.authorization;
    if (token && fault === "expire session") expired.add(token);
    const { host: _host, connection: _connection, "content-length": _length, ...headers } = incoming.headers;
    const response = await fetch(target() + incoming.url, {
      method: incoming.method,
      headers: { ...(headers as Record<string, string>), ...(token && expired.has(token) ? { authorization: "Bearer expired" } : {}) }, // no array here
      body: text || null,
      redirect: "manual",
    });
    const answer = await response.text();
    if (fault === "lose answer") return incoming.socket.destroy();
    const more = response.headers.get("x-opsmantik-more");
    outgoing.writeHead(response.status, {
      "content-type": response.headers.get("content-type") ?? "text/plain",
      ...(more ? { "x-opsmantik-more": more } : {}),
    });
    outgoing.end(typeof fault === "object" && "tamper" in fault && response.ok ? JSON.stringify(fault.tamper(JSON.parse(answer))) : answer);
  });
  const url = await listenLocal(server, "fault proxy");
  return { url, requests, faults, stop: () => closeServer(server) };
}

function isDue(fault: Fault): boolean {
  if (fault.after) {
    fault.after -= 1;
    return false;
  }
  if (fault.times === 0) return false;
  if (fault.times) fault.times -= 1;
  return true;
}
