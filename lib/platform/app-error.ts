/**
 * Every error a caller can meet, with its HTTP status. SQL raises the same codes (errcode PTxxx, message = code);
 * docs/errors.md says for each what happened and what to do. A test keeps the three together.
 */
export const errorStatus = {
  VALIDATION_FAILED: 400,
  MALFORMED_JSON: 400,
  INVALID_DOMAIN: 400,
  INVALID_AMOUNT: 400,
  INVALID_CURRENCY: 400,
  INVALID_IDEMPOTENCY_KEY: 400,
  INVALID_EVENT: 400,
  INVALID_TIMEZONE: 400,
  IDENTITY_BOUNDARY: 400,
  WRONG_SYNC_METHOD: 400,
  UNAUTHENTICATED: 401,
  INVALID_CREDENTIALS: 401,
  INVALID_API_KEY: 401,
  MISSING_API_KEY: 401,
  INVALID_SESSION_TOKEN: 401,
  INVALID_SIGNATURE: 401,
  INVALID_CRON_SECRET: 401,
  FORBIDDEN: 403,
  INSUFFICIENT_SCOPE: 403,
  CROSS_SITE_REQUEST: 403,
  ORIGIN_NOT_ALLOWED: 403,
  SIGN_IN_AGAIN: 403,
  NOT_FOUND: 404,
  ALREADY_MEMBER: 409,
  ALREADY_QUEUED: 409,
  AMOUNT_UNCHANGED: 409,
  CREDIT_TOO_LARGE: 409,
  EXTERNAL_REF_CONFLICT: 409,
  ILLEGAL_MOVE: 409,
  NOT_CONNECTED: 409,
  NOTHING_TO_UNDO: 409,
  PREVIEW_EXPIRED: 409,
  PREVIEW_MISMATCH: 409,
  REQUEST_IN_FLIGHT: 409,
  LEAD_ERASED: 409,
  SALE_CANCELLED: 409,
  SALE_NOT_SEALED: 409,
  SALE_RETRACTED: 409,
  SCOPE_NOT_HELD: 409,
  STALE_VERSION: 409,
  UNDO_EXPIRED: 409,
  VISIT_ALREADY_SEALED: 409,
  INVITATION_EXPIRED: 409,
  LAST_OWNER: 409,
  RECORD_IS_PERMANENT: 409,
  SITE_ARCHIVED: 409,
  TOO_MANY: 409,
  PAYLOAD_TOO_LARGE: 413,
  IDEMPOTENCY_KEY_REUSED: 422,
  RATE_LIMITED: 429,
  INTERNAL: 500,
  AUTH_UNAVAILABLE: 503,
  CREDENTIALS_UNREADABLE: 503,
  DATABASE_UNAVAILABLE: 503,
  ERASURE_UNFINISHED: 503,
  PROVIDER_UNAVAILABLE: 503,
  REDIS_UNAVAILABLE: 503,
  VAULT_KEY_MISMATCH: 503,
  VAULT_KEY_MISSING: 503,
} as const;

export type ErrorCode = keyof typeof errorStatus;

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorStatus, text);
}

interface ErrorFacts {
  /** A sentence for the caller. Never holds secrets or personal data. */
  detail?: string;
  /** Fields of the answer beside the standard ones, for example `retryAfterSeconds` or `errors`. */
  extra?: Record<string, unknown>;
  headers?: Record<string, string>;
  cause?: unknown;
}

/** An outcome that ends a request. Expected outcomes of a domain are values, not errors. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly facts: ErrorFacts;
  /** What an error boundary in the browser gets of a server error: the code and the request's id. */
  digest?: string;

  constructor(code: ErrorCode, facts: ErrorFacts = {}) {
    super(facts.detail ? `${code}: ${facts.detail}` : code, { cause: facts.cause });
    this.name = "AppError";
    this.code = code;
    this.facts = facts;
  }

  get status(): number {
    return errorStatus[this.code];
  }
}
