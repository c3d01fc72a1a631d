/** Google's token endpoint: a code or a refresh token for an access token. Errors as RFC 6749 names them. */
import { createHash, randomBytes } from "node:crypto";
import { issueAccessToken } from "./access.ts";
import { newGrant } from "./accounts.ts";
import { Refusal } from "./failures.ts";
import type { Sim } from "./sim.ts";
import type { Answer, AuthCode, Call, OauthClient } from "./sim-shapes.ts";

function oauthError(status: number, error: string, description: string): Refusal {
  return new Refusal({ status, body: { error, error_description: description }, message: "oauth2.Error" });
}

export function exchangeToken(sim: Sim, call: Call): Answer {
  if (call.httpMethod !== "POST") throw new Refusal({ status: 404, body: null });
  const form = new URLSearchParams(call.text);
  const client = requireClient(sim, form);
  const type = form.get("grant_type");
  if (type === "refresh_token") return refresh(sim, form, client);
  if (type === "authorization_code") return redeem(sim, form, client);
  throw oauthError(400, "unsupported_grant_type", `Invalid grant_type: ${type ?? ""}`);
}

function requireClient({ store }: Sim, form: URLSearchParams): OauthClient {
  const client = store.get("clients", form.get("client_id") ?? "");
  if (!client) throw oauthError(401, "invalid_client", "The OAuth client was not found.");
  if (client.clientSecret !== form.get("client_secret")) throw oauthError(401, "invalid_client", "Unauthorized");
  return client;
}

function refresh(sim: Sim, form: URLSearchParams, { clientId }: OauthClient): Answer {
  const token = form.get("refresh_token");
  if (!token) throw oauthError(400, "invalid_request", "Missing required parameter: refresh_token");
  const grants = sim.store.values("accounts").flatMap(({ refreshTokens }) => refreshTokens);
  const grant = grants.find((known) => known.token === token);
  if (!grant) throw oauthError(400, "invalid_grant", "Token has been expired or revoked.");
  if (grant.clientId !== clientId) throw oauthError(401, "unauthorized_client", "Unauthorized");
  return tokenAnswer(sim, token, grant.scopes);
}

function tokenAnswer(sim: Sim, refreshToken: string, scopes: string[], shown?: string): Answer {
  const body = {
    access_token: issueAccessToken(sim, refreshToken),
    expires_in: sim.settings().tokenSeconds,
    ...(shown && { refresh_token: shown }),
    scope: scopes.join(" "),
    token_type: "Bearer",
  };
  return { status: 200, body, message: "oauth2.Token" };
}

/** A code works once, soon, and for the client and address it was made for. */
function redeem(sim: Sim, form: URLSearchParams, { clientId }: OauthClient): Answer {
  const key = form.get("code") ?? "";
  const code = sim.store.get("codes", key);
  if (!code || code.isUsed || code.expiresAt <= sim.now()) throw oauthError(400, "invalid_grant", "Malformed auth code.");
  if (code.clientId !== clientId) throw oauthError(401, "unauthorized_client", "Unauthorized");
  if (code.redirectUri !== form.get("redirect_uri")) throw oauthError(400, "redirect_uri_mismatch", "Bad Request");
  if (!provesChallenge(code, form.get("code_verifier"))) throw oauthError(400, "invalid_grant", "Invalid code verifier.");
  sim.store.put("codes", key, { ...code, isUsed: true });
  const token = `1//${randomBytes(24).toString("base64url")}`;
  const account = sim.store.get("accounts", code.customerId);
  if (!account) throw oauthError(400, "invalid_grant", "The account is gone.");
  const grant = newGrant({ token, clientId, scopes: code.scopes });
  sim.store.put("accounts", account.customerId, { ...account, refreshTokens: [...account.refreshTokens, grant] });
  return tokenAnswer(sim, token, code.scopes, code.isOffline ? token : undefined);
}

function provesChallenge({ challenge }: AuthCode, verifier: string | null): boolean {
  if (challenge === null) return true;
  return verifier !== null && createHash("sha256").update(verifier).digest("base64url") === challenge;
}
