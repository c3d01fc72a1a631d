import { createHash } from "node:crypto";
import { z } from "zod";
import type { ProviderBlock, ProviderConnection } from "#lib/providers/port.ts";
import { ProviderRateLimitError, ProviderTransientError } from "#lib/providers/provider-error.ts";
import { fetchJson } from "./fetch-json.ts";
import { googleHosts } from "./hosts.ts";

/** Google's tokens live an hour. Ten minutes are left for the calls made with it. */
const cachedForMs = 50 * 60_000;
const cachedMax = 500;
const timeoutMs = 15_000;

interface AccessToken {
  ok: true;
  token: string;
  scopes: string[];
}
interface TokenRefusal extends ProviderBlock {
  ok: false;
}
type TokenAnswer = AccessToken | TokenRefusal;

interface CachedToken {
  answer: Promise<TokenAnswer>;
  expiresAt: number;
}

/** One per site and version of its credentials. The promise is cached, so concurrent callers share one request. */
const cache = new Map<string, CachedToken>();

const granted = z.object({ access_token: z.string().min(1), expires_in: z.number().optional(), scope: z.string().optional() });
const refused = z.object({ error: z.string().catch("unknown"), error_description: z.string().optional() });

function cacheKey({ siteUuid, version, credentials }: ProviderConnection): string {
  const { client_id, client_secret, refresh_token } = credentials;
  return createHash("sha256")
    .update(JSON.stringify([googleHosts().token, siteUuid, version, client_id, client_secret, refresh_token]))
    .digest("base64");
}

/**
 * An access token, from the cache or from Google. A refusal (invalid_grant and the like) is a value: only a person can change it. A failure
 * throws and is not cached.
 */
export function accessToken(connection: ProviderConnection): Promise<TokenAnswer> {
  const cached = cache.get(cacheKey(connection));
  return cached && cached.expiresAt > Date.now() ? cached.answer : newAccessToken(connection);
}

/** One that Google gave just now. */
export function newAccessToken(connection: ProviderConnection): Promise<TokenAnswer> {
  const key = cacheKey(connection);
  const entry: CachedToken = { answer: refresh(connection), expiresAt: Date.now() + cachedForMs };
  remember(key, entry);
  const forget = () => {
    if (cache.get(key) === entry) cache.delete(key);
  };
  entry.answer.then((answer) => (answer.ok ? undefined : forget()), forget);
  return entry.answer;
}

/** Google no longer takes this token. Another that came meanwhile stays. */
export async function forgetToken(connection: ProviderConnection, token: string): Promise<void> {
  const key = cacheKey(connection);
  const entry = cache.get(key);
  const answer = await entry?.answer.catch(() => undefined);
  if (answer?.ok && answer.token === token && cache.get(key) === entry) cache.delete(key);
}

function remember(key: string, entry: CachedToken): void {
  const oldest = cache.keys().next().value;
  if (cache.size >= cachedMax && oldest !== undefined) cache.delete(oldest);
  cache.delete(key);
  cache.set(key, entry);
}

async function refresh({ credentials }: ProviderConnection): Promise<TokenAnswer> {
  const { client_id, client_secret, refresh_token } = credentials;
  const body = new URLSearchParams({ client_id, client_secret, refresh_token, grant_type: "refresh_token" });
  const init = { method: "POST", headers: { "content-type": "application/x-www-form-urlencoded" }, body };
  const answer = await fetchJson(googleHosts().token, init, { timeoutMs }, [client_secret, refresh_token]);
  if (answer.status === 200) {
    const parsed = granted.safeParse(answer.body);
    if (!parsed.success) throw new ProviderTransientError("Google's token endpoint answered 200 without a token");
    return { ok: true, token: parsed.data.access_token, scopes: parsed.data.scope?.split(" ") ?? [] };
  }
  if (answer.status === 429) throw new ProviderRateLimitError("Google's token endpoint answered 429");
  const { error, error_description: text } = refused.parse(answer.body);
  return { ok: false, code: error.toUpperCase(), message: (text ?? `Google refused the credentials (${error})`).slice(0, 300) };
}
