import { AppError, type ErrorCode, isErrorCode } from "#lib/platform/app-error.ts";

/** What both drivers report of a failure. */
interface DriverError {
  code?: string | undefined;
  message: string;
  details?: string | null | undefined;
}

/** SQLSTATE classes and driver codes that mean "not now" rather than "no". */
const unavailable = /^(08|53|57P|55P03|CONNECT|CONNECTION_|ECONN|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EPIPE|PGRST00[0-3])/;
/** A value the schema refuses: wrong type, too long, failed check, NUL or lone surrogate in a text. */
const refusedInput = /^(22|23514|23502)/;

function parseDetail(details: string | null | undefined): Record<string, unknown> | undefined {
  if (!details?.startsWith("{")) return undefined;
  try {
    return JSON.parse(details);
  } catch {
    return undefined;
  }
}

function codeFor({ code = "", message }: DriverError): ErrorCode {
  if (code.startsWith("PT") && isErrorCode(message)) return message;
  if (unavailable.test(code) || /fetch failed|terminated|timeout/i.test(message)) return "DATABASE_UNAVAILABLE";
  if (refusedInput.test(code)) return "VALIDATION_FAILED";
  if (code === "PGRST301" || code === "PGRST303" || code === "42501") return "UNAUTHENTICATED";
  return "INTERNAL";
}

/** Turns a driver's error into ours. Codes raised by our functions pass through; the cause stays for the log only. */
export function databaseError(error: DriverError): AppError {
  const code = codeFor(error);
  const extra = code === "INTERNAL" ? undefined : parseDetail(error.details);
  return new AppError(code, { cause: error, ...(extra && { extra }) });
}
