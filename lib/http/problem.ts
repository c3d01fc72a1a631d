import { AppError, type ErrorCode } from "#lib/platform/app-error.ts";
import { log } from "#lib/platform/log.ts";

/** What each code says when nothing more exact is known. docs/errors.md has the long form. */
const titles: Partial<Record<ErrorCode, string>> = {
  UNAUTHENTICATED: "Sign in first.",
  FORBIDDEN: "Your role on this site does not allow this. Ask an owner of the site.",
  INSUFFICIENT_SCOPE: "This API key was not made for this. An owner makes one with the scope that `needs` names.",
  SCOPE_NOT_HELD: "A key never gains a scope. Make a new key.",
  NOT_FOUND: "There is nothing here, or it is not yours.",
  CROSS_SITE_REQUEST: "This change did not come from our own pages.",
  RATE_LIMITED: "Too many requests. Wait, then try again.",
  LAST_OWNER: "A site keeps at least one owner. Make somebody else owner first.",
  DATABASE_UNAVAILABLE:
    "Our database did not answer in time. If you were changing something, look whether it was saved before you try again.",
  REDIS_UNAVAILABLE: "A part of our service did not answer. Nothing was changed. Try again in a moment.",
  AUTH_UNAVAILABLE: "Sign-in did not answer. Try again in a moment.",
  INTERNAL: "Something went wrong on our side. Tell support the request id.",
};

function humanize(code: ErrorCode): string {
  return `${code.charAt(0)}${code.slice(1).toLowerCase().replaceAll("_", " ")}.`;
}

/** RFC 9457. Errors that are not ours become INTERNAL: their text stays in the log. */
export function problemResponse(error: unknown, requestId: string): Response {
  const known = error instanceof AppError ? error : new AppError("INTERNAL", { cause: error });
  const { code, status, facts } = known;
  if (status >= 500) log.error("request failed", { code, detail: facts.detail, error: facts.cause ?? known });
  const title = titles[code] ?? humanize(code);
  const body = {
    type: `https://opsmantik.com/errors#${code}`,
    title,
    status,
    code,
    detail: status >= 500 ? title : (facts.detail ?? title),
    requestId,
    ...facts.extra,
  };
  const comeAgain = status === 503 || code === "REQUEST_IN_FLIGHT";
  const headers = { "content-type": "application/problem+json", ...(comeAgain && { "retry-after": "5" }), ...facts.headers };
  return new Response(JSON.stringify(body), { status, headers });
}
