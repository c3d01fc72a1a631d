import { AppError } from "#lib/platform/app-error.ts";

/** What Supabase Auth says, in our codes. Its own sentence never reaches the page. */
export function authFailure(error: { code?: string | undefined; status?: number | undefined; name: string }): AppError {
  if (error.code === "weak_password" || error.code === "same_password") return new AppError("VALIDATION_FAILED", { cause: error });
  if (error.code === "over_request_rate_limit" || error.status === 429) return new AppError("RATE_LIMITED", { cause: error });
  if (error.name === "AuthRetryableFetchError" || (error.status ?? 500) >= 500) return new AppError("AUTH_UNAVAILABLE", { cause: error });
  return new AppError("INVALID_CREDENTIALS", { cause: error });
}
