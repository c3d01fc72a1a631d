import type { Upload, UploadResult } from "./port.ts";

/** A call that ended without a definite answer. Jobs without a result here may or may not have reached Google. */
abstract class ProviderError extends Error {
  /** What was decided before the call that failed: those rows must not be sent again. */
  decided: Upload = { results: [] };

  get results(): UploadResult[] {
    return this.decided.results;
  }
}

/** Google asks us to slow down (429). */
export class ProviderRateLimitError extends ProviderError {
  readonly retryAt?: Date;

  constructor(message: string, retryAt?: Date) {
    super(message);
    this.name = "ProviderRateLimitError";
    this.retryAt = retryAt;
  }
}

/** Google failed (5xx), did not answer in time, or could not be reached. */
export class ProviderTransientError extends ProviderError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ProviderTransientError";
  }
}

export function isProviderError(error: unknown): error is ProviderRateLimitError | ProviderTransientError {
  return error instanceof ProviderError;
}
