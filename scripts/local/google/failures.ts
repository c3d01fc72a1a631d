/** Refusals in the shapes that Google's REST servers give. */
import type { Answer } from "./sim-shapes.ts";

const statusNames: Record<number, string> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};
const usualMessages: Record<number, string> = {
  400: "Request contains an invalid argument.",
  401: "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
  403: "The caller does not have permission",
  404: "Requested entity was not found.",
  429: "Resource has been exhausted (e.g. check quota).",
  500: "Internal error encountered.",
  503: "The service is currently unavailable.",
  504: "Deadline expired before operation could complete.",
};

/** Thrown anywhere while a call is handled; becomes its answer. */
export class Refusal extends Error {
  readonly answer: Answer;
  constructor(answer: Answer) {
    super(`refused with ${answer.status}`);
    this.answer = answer;
  }
}

export function errorAnswer(status: number, details: object[], message = usualMessages[status] ?? "Unknown error."): Answer {
  const error = { code: status, message, status: statusNames[status] ?? "UNKNOWN", details };
  return { status, body: { error }, message: "rest.Error" };
}

export interface FieldViolation {
  field: string;
  description: string;
  reason?: string;
}

const type = (name: string) => ({ "@type": `type.googleapis.com/google.rpc.${name}` });

export interface InfoOptions {
  reason: string;
  domain?: string;
  metadata?: Record<string, string>;
}

export function errorInfo({ reason, domain = "googleapis.com", metadata }: InfoOptions): object {
  return { ...type("ErrorInfo"), reason, domain, ...(metadata && { metadata }) };
}

export const badRequest = (fieldViolations: FieldViolation[]) => ({ ...type("BadRequest"), fieldViolations });
export const requestInfo = (requestId: string) => ({ ...type("RequestInfo"), requestId });
export const retryInfo = (retryDelay: string) => ({ ...type("RetryInfo"), retryDelay });

/** What stands in front of every API: a token that is missing, broken, run out or revoked. */
export function unauthenticated(problem: "missing" | "invalid" | "expired" | "revoked", service: string): Answer {
  const reasons = {
    missing: "CREDENTIALS_MISSING",
    invalid: "ACCESS_TOKEN_TYPE_UNSUPPORTED",
    expired: "ACCESS_TOKEN_EXPIRED",
    revoked: "ACCESS_TOKEN_EXPIRED",
  };
  return errorAnswer(401, [errorInfo({ reason: reasons[problem], metadata: { service } })]);
}

export function scopeMissing(service: string): Answer {
  const info = errorInfo({ reason: "ACCESS_TOKEN_SCOPE_INSUFFICIENT", metadata: { service } });
  return errorAnswer(403, [info], "Request had insufficient authentication scopes.");
}

/** JSON that is none, or that holds what the API's definitions do not: refused before any rule is asked. */
export function malformedJson(violations: FieldViolation[]): Answer {
  const message = violations[0]?.description ?? "Invalid JSON payload received.";
  return errorAnswer(400, [badRequest(violations)], message);
}
