import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { redact } from "./redact.ts";

type Level = "info" | "warn" | "error";

/** Lines of this turn of the event loop, written together: one write each would take 6 % of a request's time. */
let waiting = "";

function flush(): void {
  const lines = waiting;
  waiting = "";
  if (lines) process.stdout.write(lines);
}

// For process.exit() and uncaught errors, after which no further turn comes. Pipes and files are written before write() returns.
process.on("exit", flush);
// Registered before other listeners of the error, which may end the process without an exit event.
process.on("uncaughtExceptionMonitor", flush);

/** One JSON object a line on stdout, which is where Vercel and every log drain look. Errors are written before the call returns. */
function write(level: Level, message: string, fields: Record<string, unknown> = {}): void {
  const requestId = currentRequestId();
  const safe = redact(fields) as Record<string, unknown>; // redact keeps an object an object
  if (!waiting) setImmediate(flush);
  waiting += `${JSON.stringify({ time: new Date().toISOString(), level, message, ...(requestId && { requestId }), ...safe })}\n`;
  if (level === "error") flush();
}

export const log = {
  info: (message: string, fields?: Record<string, unknown>) => write("info", message, fields),
  warn: (message: string, fields?: Record<string, unknown>) => write("warn", message, fields),
  error: (message: string, fields?: Record<string, unknown>) => write("error", message, fields),
};

interface RequestContext {
  requestId: string;
}

const storage = new AsyncLocalStorage<RequestContext>();

/** An id that sorts by time and that a person can read out: `req_` + 26 characters. */
export function newRequestId(): string {
  // The end of a UUID, because Node keeps random bytes ready for those and asks the system for others each time.
  return `req_${Date.now().toString(36).padStart(9, "0")}${randomUUID().replaceAll("-", "").slice(-17)}`;
}

export function withRequestId<T>(requestId: string, run: () => T): T {
  return storage.run({ requestId }, run);
}

/** The id of the request being served, when there is one. */
function currentRequestId(): string | undefined {
  return storage.getStore()?.requestId;
}
