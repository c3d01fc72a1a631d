import { log } from "#lib/platform/log.ts";
import type { QuotaEnd, Upload, UploadResult } from "./port.ts";

/** A call that ended without a definite answer. Jobs without a result here may or may not have reached Google. */
abstract class ProviderError extends Error {
  /** For a screen that tests a connection. On a row a thrown error has no code. */
  abstract readonly code: string;
  /** What was decided before the call that failed: those rows must not be sent again. */
  decided: Upload = { results: [] };

  get results(): UploadResult[] {
    return this.decided.results;
  }
}

/** Google asks us to slow down (429). */
export class ProviderRateLimitError extends ProviderError {
  readonly code = "RATE_LIMIT";
  readonly quota?: QuotaEnd;

  constructor(message: string, quota?: QuotaEnd) {
    super(message);
    this.name = "ProviderRateLimitError";
    this.quota = quota;
  }
}

/** Google failed (5xx), did not answer in time, or could not be reached. */
export class ProviderTransientError extends ProviderError {
  readonly code: "UNAVAILABLE" | "TIMEOUT" | "NETWORK_ERROR";

  constructor(message: string, code: ProviderTransientError["code"] = "UNAVAILABLE") {
    super(message);
    this.name = "ProviderTransientError";
    this.code = code;
  }

  /** No answer at all. */
  get isUnanswered(): boolean {
    return this.code !== "UNAVAILABLE";
  }
}

export function isProviderError(error: unknown): error is ProviderRateLimitError | ProviderTransientError {
  return error instanceof ProviderError;
}

/** An error in our own code, about an unexpected answer: it counts as Google's failure, so that it carries what was decided before. */
export function asProviderError(error: unknown): ProviderRateLimitError | ProviderTransientError {
  if (isProviderError(error)) return error;
  log.error("an answer of the provider was not understood", { error });
  return new ProviderTransientError(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}
