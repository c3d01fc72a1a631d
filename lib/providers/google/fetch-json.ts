import { ProviderTransientError } from "#lib/providers/provider-error.ts";

/** Google's own clients wait two minutes; a worker has to settle within its platform's limit. */
const defaultTimeoutMs = 60_000;

export interface JsonAnswer {
  status: number;
  body: unknown;
  headers: Headers;
}

interface FetchLimits {
  timeoutMs?: number;
  signal?: AbortSignal;
}

/**
 * Removes secrets from an answer, in case Google repeats them: they must not reach a log or a row. Works on the parsed texts, because JSON has
 * many spellings of one text.
 */
function parseJson(text: string, secrets: readonly (string | undefined)[]): unknown {
  const cleaned = (part: string) =>
    secrets.reduce<string>((clean, secret) => (secret ? clean.replaceAll(secret, "[secret]") : clean), part);
  try {
    return JSON.parse(text, (_key, value) => (typeof value === "string" ? cleaned(value) : value));
  } catch {
    return undefined;
  }
}

/**
 * One call to Google. Any answer below 500 comes back as it is. 5xx, a timeout, a lost connection and a redirect, which would carry the token
 * elsewhere, throw ProviderTransientError. Its message names the host and what happened, never what was sent.
 */
export async function fetchJson(
  url: string,
  init: RequestInit,
  { timeoutMs = defaultTimeoutMs, signal }: FetchLimits,
  secrets: readonly (string | undefined)[],
): Promise<JsonAnswer> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const host = new URL(url).host;
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      ...init,
      cache: "no-store",
      redirect: "error",
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    text = await response.text();
  } catch (error) {
    if (timeout.aborted) throw new ProviderTransientError(`${host} did not answer within ${timeoutMs} ms`, "TIMEOUT");
    if (signal?.aborted) throw new ProviderTransientError(`the call to ${host} was ended before an answer came`, "TIMEOUT");
    throw new ProviderTransientError(`${host} could not be reached (${reasonOf(error)})`, "NETWORK_ERROR");
  }
  if (response.status >= 500 || response.status === 408) {
    throw new ProviderTransientError(`${host} answered ${response.status}`);
  }
  const body = parseJson(text, secrets);
  // A cut answer may belong to an upload that was taken. Sent again, the order ids make it the same conversions.
  if (response.ok && !isObject(body)) throw new ProviderTransientError(`${host} answered ${response.status}, not with a JSON object`);
  return { status: response.status, body: isObject(body) ? body : {}, headers: response.headers };
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** ECONNREFUSED and the like. The error itself can carry the request. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && typeof cause.code === "string" ? cause.code : "connection failed";
}
