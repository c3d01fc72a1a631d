/**
 * QStash, as @upstash/qstash speaks it: publish and batch, delays, deduplication, signed delivery with retries.
 * Messages live in memory and a stop loses them. That is enough: QStash is only a wake-up for us, Postgres holds the
 * only copy that matters, and a cron sweeps what no wake-up reached. Flow control, callbacks on success and custom
 * retry delays are accepted and ignored.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import { closeServer, listenLocal, readBody, sendJson } from "../process/local-server.ts";
import { deliver, failureReport, isDelivered, mayRetry } from "./qstash-delivery.ts";
import { parseMessage, type QstashMessage, RefusedMessage } from "./qstash-message.ts";

export interface QstashOptions {
  port?: number;
  /** The first retry waits this long, each further one twice as long. */
  retryBaseMs?: number;
  token?: string;
  currentSigningKey?: string;
  nextSigningKey?: string;
}

export interface Qstash {
  url: string;
  token: string;
  currentSigningKey: string;
  nextSigningKey: string;
  /** Resolves when no message is waiting, delayed ones included, and none is being delivered. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

const deduplicationWindowMs = 10 * 60_000;
const pendingMax = 10_000;
const timerMaxMs = 2 ** 31 - 1;

export async function startQstash(options: QstashOptions = {}): Promise<Qstash> {
  const { retryBaseMs = 1_000, token = randomToken(), nextSigningKey = `sig_${randomToken()}` } = options;
  const currentSigningKey = options.currentSigningKey ?? `sig_${randomToken()}`;
  const stopping = new AbortController();
  const timers = new Map<string, NodeJS.Timeout>();
  const seen = new Map<string, { messageId: string; until: number }>();
  let pending = 0;
  const idleWaiters: (() => void)[] = [];

  function accept(message: QstashMessage): { messageId: string; deduplicated?: true } {
    const key = message.deduplicationKey;
    for (const [known, { until }] of seen) if (until <= Date.now()) seen.delete(known);
    const earlier = key ? seen.get(key) : undefined;
    if (earlier) return { messageId: earlier.messageId, deduplicated: true };
    if (pending >= pendingMax) throw new RefusedMessage(`more than ${pendingMax} messages are waiting`);
    if (key) seen.set(key, { messageId: message.id, until: Date.now() + deduplicationWindowMs });
    pending++;
    schedule(message, 0, message.deliverAt - Date.now());
    return { messageId: message.id };
  }

  function schedule(message: QstashMessage, retried: number, waitMs: number): void {
    const timer = setTimeout(() => attempt(message, retried), Math.min(Math.max(waitMs, 0), timerMaxMs));
    timers.set(message.id, timer);
  }

  async function attempt(message: QstashMessage, retried: number): Promise<void> {
    timers.delete(message.id);
    const result = await deliver(message, retried, currentSigningKey, stopping.signal);
    if (stopping.signal.aborted) return;
    if (!isDelivered(result) && mayRetry(result) && retried < message.retriesMax) {
      return schedule(message, retried + 1, retryBaseMs * 2 ** retried);
    }
    if (!isDelivered(result) && message.failureCallback) {
      accept(parseMessage(message.failureCallback, {}, failureReport(message, result, retried)));
    }
    pending--;
    if (pending === 0) for (const wake of idleWaiters.splice(0)) wake();
  }

  const server = createServer(async (request, response) => {
    if (request.headers.authorization !== `Bearer ${token}`) return sendJson(response, 401, { error: "invalid token" });
    try {
      sendJson(response, 202, await answer(request));
    } catch (error) {
      const refused = error instanceof RefusedMessage || error instanceof SyntaxError;
      sendJson(response, refused ? 400 : 500, { error: error instanceof Error ? error.message : String(error) });
    }
  });

  async function answer(request: IncomingMessage) {
    const body = (await readBody(request)).toString("utf8");
    // The destination stands unescaped in the path, so a parsed URL would not give it back.
    const destination = /^\/v2\/publish\/(.+)$/.exec(request.url ?? "")?.[1];
    if (request.method === "POST" && destination) return accept(parseMessage(destination, request.headers, body));
    if (request.method === "POST" && request.url === "/v2/batch") return acceptBatch(body);
    throw new RefusedMessage(`${request.method} ${request.url} is not served here`);
  }

  function acceptBatch(body: string) {
    const items: { destination: string; headers?: Record<string, string>; body?: string }[] = JSON.parse(body);
    const messages = items.map((item) => parseMessage(item.destination, lowerCaseKeys(item.headers ?? {}), item.body ?? ""));
    return messages.map(accept);
  }

  const url = await listenLocal(server, "QStash", options.port);
  return {
    url,
    token,
    currentSigningKey,
    nextSigningKey,
    idle: () => (pending === 0 ? Promise.resolve() : new Promise((resolve) => idleWaiters.push(resolve))),
    async stop() {
      stopping.abort();
      for (const timer of timers.values()) clearTimeout(timer);
      await closeServer(server);
    },
  };
}

function lowerCaseKeys(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function randomToken(): string {
  return randomBytes(24).toString("base64url");
}
