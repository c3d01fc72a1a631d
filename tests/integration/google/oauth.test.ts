import { createHash } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkFields } from "#lib/providers/check-fields.ts";
import { adsScope, dataManagerScope, demoClient, demoCustomerId, demoRefreshToken } from "#scripts/local/google/accounts.ts";
import { startTestGoogle } from "#tests/fixtures/worker/google-client.ts";

let google: Awaited<ReturnType<typeof startTestGoogle>>;
beforeEach(async () => {
  google = await startTestGoogle();
});
afterEach(() => google.stop());

const redirectUri = "http://localhost:3000/api/connect/google";
const form = (change: Record<string, string> = {}) =>
  new URLSearchParams({
    client_id: demoClient.clientId,
    client_secret: demoClient.clientSecret,
    grant_type: "refresh_token",
    refresh_token: demoRefreshToken,
    ...change,
  });
const token = (change: Record<string, string> = {}) => google.send("/oauth2/token", { body: form(change) });

test("a refresh token gives an access token for as long as Google's lives", async () => {
  const { status, body } = await token();
  expect(status).toBe(200);
  expect(body).toEqual({
    access_token: expect.stringMatching(/^ya29\./),
    expires_in: 3599,
    scope: `${adsScope} ${dataManagerScope}`,
    token_type: "Bearer",
  });
  expect(checkFields("oauth2.Token", body)).toEqual([]);
});

test.each([
  ["a revoked refresh token", { refresh_token: "1//gone" }, 400, "invalid_grant"],
  ["a wrong secret", { client_secret: "no" }, 401, "invalid_client"],
  ["an unknown client", { client_id: "no" }, 401, "invalid_client"],
  ["another grant type", { grant_type: "password" }, 400, "unsupported_grant_type"],
])("%s is refused", async (_, change, status, error) => {
  const answer = await token(change);
  expect([answer.status, answer.body.error]).toEqual([status, error]);
});

// Guarantee: whoever revokes a grant at Google also ends the access tokens that are out.
test("taking a grant back ends its access tokens", async () => {
  const accessToken = await google.token();
  await google.putAccount({ refreshTokens: [] });
  expect((await google.ingest({}, accessToken)).status).toBe(401);
  expect((await token()).body.error).toBe("invalid_grant");
});

const consent = (change: Record<string, string> = {}) =>
  `/oauth2/auth?${new URLSearchParams({
    client_id: demoClient.clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: `${adsScope} ${dataManagerScope}`,
    state: "a-state",
    access_type: "offline",
    prompt: "consent",
    ...change,
  })}`;
const choose = (customerId: string, path = consent()) => google.send(path, { body: new URLSearchParams({ customer_id: customerId }) });

test("the consent page leads back with a code, which works once and for its own address", async () => {
  const page = await google.send(consent(), { method: "GET" });
  expect(page.body).toContain("OpsMantik demo (1234567890)");
  const { status, headers } = await choose(demoCustomerId);
  const back = new URL(headers.get("location") ?? "");
  expect([status, back.origin + back.pathname, back.searchParams.get("state")]).toEqual([302, redirectUri, "a-state"]);
  const code = back.searchParams.get("code") ?? "";
  const exchange = (change: Record<string, string> = {}) =>
    token({ grant_type: "authorization_code", code, redirect_uri: redirectUri, ...change });
  expect((await exchange({ redirect_uri: "http://localhost:9/" })).body.error).toBe("redirect_uri_mismatch");
  const { body } = await exchange();
  expect(body).toMatchObject({ refresh_token: expect.stringMatching(/^1\/\//), token_type: "Bearer" });
  expect((await exchange()).body.error).toBe("invalid_grant");
  expect((await token({ refresh_token: body.refresh_token })).status).toBe(200);
});

test("a code is bound to its challenge and ends after ten minutes", async () => {
  const code_challenge = createHash("sha256").update("a-verifier").digest("base64url");
  const path = consent({ code_challenge, code_challenge_method: "S256" });
  const codeOf = async () => new URL((await choose(demoCustomerId, path)).headers.get("location") ?? "").searchParams.get("code") ?? "";
  const exchange = async (change: Record<string, string>) =>
    token({ grant_type: "authorization_code", code: await codeOf(), redirect_uri: redirectUri, ...change });
  expect((await exchange({})).body.error).toBe("invalid_grant");
  expect((await exchange({ code_verifier: "a-verifier" })).status).toBe(200);
  const late = await codeOf();
  await google.advance(601);
  expect((await exchange({ code: late, code_verifier: "a-verifier" })).body.error).toBe("invalid_grant");
});

test("a person may say no, and a strange app gets no page", async () => {
  expect((await choose("")).headers.get("location")).toBe(`${redirectUri}?state=a-state&error=access_denied`);
  expect((await google.send(consent({ client_id: "no" }), { method: "GET" })).status).toBe(401);
  expect((await google.send(consent({ redirect_uri: "https://elsewhere.example/" }), { method: "GET" })).status).toBe(400);
  expect((await google.send(consent({ scope: "everything" }), { method: "GET" })).status).toBe(400);
});
