import { z } from "zod";
import { untilAborted } from "#lib/platform/until-aborted.ts";
import type { ProviderConnection } from "#lib/providers/port.ts";
import { ProviderTransientError } from "#lib/providers/provider-error.ts";
import { accessToken, forgetToken } from "./access-token.ts";
import { oauthFamily } from "./classify-google-ads-error.ts";
import { fetchJson, type JsonAnswer } from "./fetch-json.ts";
import { type GoogleErrors, readGoogleErrors } from "./read-errors.ts";

export interface GoogleCall {
  url: string;
  method?: "GET" | "POST";
  headers?: Record<string, string | undefined>;
  body?: unknown;
  connection: ProviderConnection;
  signal?: AbortSignal;
}

export interface GoogleAnswer {
  status: number;
  body: unknown;
  /** Of the call as such, where the answer is an error. */
  errors: GoogleErrors["errors"];
  requestId?: string;
}

const errorBody = z.object({ error: z.unknown() }).catch({ error: undefined });
const ownRequestId = z.object({ requestId: z.string().min(1) });

/** Google Ads names the header `request-id`; the runbook's older name is understood, too. */
function requestIdOf({ headers, body }: JsonAnswer, fromErrors: string | undefined): string | undefined {
  const own = ownRequestId.safeParse(body);
  return headers.get("request-id") ?? headers.get("x-goog-request-id") ?? fromErrors ?? (own.success ? own.data.requestId : undefined);
}

function readAnswer(answer: JsonAnswer): GoogleAnswer {
  const failed = answer.status >= 400;
  const { errors, requestId } = failed ? readGoogleErrors(errorBody.parse(answer.body).error, answer.status) : { errors: [] };
  const retryAfter = Number(answer.headers.get("retry-after") ?? Number.NaN) * 1000;
  return {
    status: answer.status,
    body: answer.body,
    errors: Number.isFinite(retryAfter) ? errors.map((error) => ({ retryDelayMs: retryAfter, ...error })) : errors,
    requestId: requestIdOf(answer, requestId),
  };
}

/**
 * A call with the site's own access. A 401 gets a fresh token and one more try. Credentials that Google refuses look like a 401 whose code
 * says why, so that both are one case for the reader of the answer.
 */
export async function callGoogle(call: GoogleCall): Promise<GoogleAnswer> {
  const first = await callOnce(call);
  if (first.answer.status !== 401 || first.token === null) return first.answer;
  await forgetToken(call.connection, first.token);
  return (await callOnce(call)).answer;
}

async function callOnce({ url, method = "POST", headers = {}, body, connection, signal }: GoogleCall) {
  // Concurrent callers share the token's request, so aborting one caller does not abort it.
  const errorOf = () => new ProviderTransientError("the run ended before Google gave an access token", "TIMEOUT");
  const access = await untilAborted(accessToken(connection), { signal, errorOf });
  if (!access.ok) {
    const { code, message } = access;
    return {
      token: null,
      answer: { status: 401, body: {}, errors: [{ code, family: oauthFamily, message, index: null }] } satisfies GoogleAnswer,
    };
  }
  const sent = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const init = {
    method,
    headers: { ...Object.fromEntries(sent), authorization: `Bearer ${access.token}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  };
  const { client_secret, refresh_token, developer_token } = connection.credentials;
  const secrets = [access.token, client_secret, refresh_token, developer_token];
  const answer = await fetchJson(url, init, { timeoutMs: connection.fetchTimeoutMs, signal }, secrets);
  return { token: access.token, answer: readAnswer(answer) };
}
