import { redact } from "./redact.ts";
import { currentRequestId } from "./request-context.ts";

type Level = "info" | "warn" | "error";

/** One JSON object a line on stdout, which is where Vercel and every log drain look. */
function write(level: Level, message: string, fields: Record<string, unknown> = {}): void {
  const requestId = currentRequestId();
  const safe = redact(fields) as Record<string, unknown>; // redact keeps an object an object
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), level, message, ...(requestId && { requestId }), ...safe })}\n`);
}

export const log = {
  info: (message: string, fields?: Record<string, unknown>) => write("info", message, fields),
  warn: (message: string, fields?: Record<string, unknown>) => write("warn", message, fields),
  error: (message: string, fields?: Record<string, unknown>) => write("error", message, fields),
};
