import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import { ProviderRateLimitError, ProviderTransientError } from "#lib/providers/provider-error.ts";
import { connectionOf, jobOf, type ScriptedGoogle, secrets, startScriptedGoogle, useGoogleEnv } from "#tests/support/scripted-google.ts";
import { stopClock } from "#tests/support/stop-clock.ts";

const provider = googleAds();
let google: ScriptedGoogle;
beforeAll(async () => {
  google = await startScriptedGoogle();
  useGoogleEnv(google.url);
});
afterAll(() => google.stop());
beforeEach(() => {
  google.requests.length = 0;
  let tokens = 0;
  google.answer("oauth2/token", () => ({ body: { access_token: `ya29.token-${++tokens}`, expires_in: 3599 } }));
  google.answer("events:ingest", { body: { requestId: "request-1" } });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const tokenCalls = () => google.sent("oauth2/token").length;
const bearers = () => google.sent("events:ingest").map(({ headers }) => headers.authorization);
const unauthenticated = {
  status: 401,
  body: { error: { code: 401, status: "UNAUTHENTICATED", message: "Request had invalid credentials." } },
};

test("a refresh asks Google as OAuth says, and its token serves 50 minutes", async () => {
  const clock = stopClock();
  const connection = connectionOf();
  await provider.uploadConversions([jobOf(1)], connection);
  expect(Object.fromEntries(new URLSearchParams(google.sent("oauth2/token")[0]?.text))).toEqual({
    client_id: connection.credentials.client_id,
    client_secret: secrets.client_secret,
    refresh_token: secrets.refresh_token,
    grant_type: "refresh_token",
  });
  clock.step(49 * 60_000);
  await provider.uploadConversions([jobOf(2)], connection);
  expect(tokenCalls()).toBe(1);
  clock.step(2 * 60_000);
  await provider.uploadConversions([jobOf(3)], connection);
  expect(tokenCalls()).toBe(2);
  expect(bearers()).toEqual(["Bearer ya29.token-1", "Bearer ya29.token-1", "Bearer ya29.token-2"]);
});

// Guarantee: ten batches of a site at once are one refresh at Google. Mutation: cache the token instead of the promise.
test("refreshes at the same moment share one request", async () => {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  google.answer("oauth2/token", async () => {
    await opened;
    return { body: { access_token: "ya29.shared" } };
  });
  const connection = connectionOf();
  const uploads = Promise.all(Array.from({ length: 10 }, (_, number) => provider.uploadConversions([jobOf(number)], connection)));
  while (tokenCalls() === 0) await nextTurn();
  open();
  await uploads;
  expect(tokenCalls()).toBe(1);
  expect(new Set(bearers())).toEqual(new Set(["Bearer ya29.shared"]));
});

test("another site, and new credentials of the same site, get a token of their own", async () => {
  const connection = connectionOf();
  await provider.uploadConversions([jobOf(1)], connection);
  await provider.uploadConversions([jobOf(2)], { ...connection, version: 2 });
  await provider.uploadConversions([jobOf(3)], connectionOf());
  expect(tokenCalls()).toBe(3);
});

// Guarantee: a token that Google ended early costs nobody a sale.
test("a 401 is answered with a fresh token and one more try", async () => {
  google.answer("events:ingest", unauthenticated, { body: { requestId: "request-2" } });
  const { results, block } = await provider.uploadConversions([jobOf(1)], connectionOf());
  expect(results).toEqual([{ id: "row-1", status: "COMPLETED", transport: "data_manager", requestId: "request-2", recordIndex: 0 }]);
  expect(block).toBeUndefined();
  expect(bearers()).toEqual(["Bearer ya29.token-1", "Bearer ya29.token-2"]);
});

test("after a second 401 the batch fails as AUTH and the site is blocked; Google is asked no third time", async () => {
  google.answer("events:ingest", unauthenticated);
  const { results, block } = await provider.uploadConversions([jobOf(1), jobOf(2)], connectionOf());
  for (const result of results) expect(result).toMatchObject({ status: "FAILED", category: "AUTH", code: "UNAUTHENTICATED" });
  expect(results).toHaveLength(2);
  expect(block).toMatchObject({ code: "UNAUTHENTICATED" });
  expect(bearers()).toHaveLength(2);
});

test.each([
  ["invalid_grant", 400, "INVALID_GRANT"],
  ["invalid_client", 401, "INVALID_CLIENT"],
  ["unauthorized_client", 401, "UNAUTHORIZED_CLIENT"],
  ["admin_policy_enforced", 400, "ADMIN_POLICY_ENFORCED"],
])("credentials that Google refuses with %s block the site and nothing is uploaded", async (error, status, code) => {
  google.answer("oauth2/token", { status, body: { error, error_description: "Token has been expired or revoked." } });
  const jobs = [jobOf(1), jobOf(2, { via: "ads_api", kind: "RETRACT" })];
  const { results, block } = await provider.uploadConversions(jobs, connectionOf());
  expect(block).toEqual({ code, message: `${code}: Token has been expired or revoked.` });
  expect(results.map(({ id, status: outcome, category }) => [id, outcome, category])).toEqual([
    ["row-1", "FAILED", "AUTH"],
    ["row-2", "FAILED", "AUTH"],
  ]);
  expect(google.requests.filter(({ path }) => !path.endsWith("/token"))).toEqual([]);
});

// Guarantee: a hiccup of the token endpoint neither blocks a site nor stays in the cache.
test.each([
  ["500", { status: 500 }, ProviderTransientError],
  ["a cut connection", { isCut: true }, ProviderTransientError],
  ["a 200 without a token", { body: {} }, ProviderTransientError],
  ["429", { status: 429 }, ProviderRateLimitError],
])("%s from the token endpoint throws, and the next upload asks again", async (_name, answer, kind) => {
  const connection = connectionOf();
  google.answer("oauth2/token", answer, { body: { access_token: "ya29.later" } });
  await expect(provider.uploadConversions([jobOf(1)], connection)).rejects.toBeInstanceOf(kind);
  expect((await provider.uploadConversions([jobOf(1)], connection)).results).toMatchObject([{ status: "COMPLETED" }]);
});

// Guarantee: whatever Google repeats and whatever fails, no credential reaches a log line, a row or an error. Mutation: drop the secrets from parseJson.
test("secrets never leave: not in the log, not in results, not in errors", async () => {
  const lines: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((chunk) => lines.push(String(chunk)) > 0);
  const connection = connectionOf({}, { developer_token: secrets.developer_token });
  const echo = (status: number) => (request: { headers: Record<string, unknown>; text: string }) => ({
    status,
    body: {
      error: {
        status: "INVALID_ARGUMENT",
        message: `you sent ${request.headers.authorization} ${request.headers["developer-token"]} ${request.text}`,
      },
    },
  });
  const jobs = [jobOf(1), jobOf(2, { via: "ads_api", kind: "RESTATE" })];
  const said: unknown[] = [];
  for (const status of [400, 401, 403, 404]) {
    google.answer("events:ingest", echo(status));
    google.answer(":uploadConversionAdjustments", echo(status));
    said.push(await provider.uploadConversions(jobs, connection));
  }
  google.answer("oauth2/token", ({ text }) => ({
    status: 400,
    body: { error: "invalid_grant", error_description: decodeURIComponent(text) },
  }));
  said.push(
    await provider.uploadConversions(jobs, { ...connection, version: 9 }),
    await provider.testConnection({ ...connection, version: 10 }),
  );
  google.answer("oauth2/token", { status: 503 });
  said.push(
    await provider.uploadConversions(jobs, { ...connection, version: 11 }).catch((error) => [error.message, error.stack, error.cause]),
  );
  await nextTurn();
  const everything = lines.join("") + JSON.stringify(said);
  for (const secret of [...Object.values(secrets), "ya29."]) expect(everything).not.toContain(secret);
  expect(everything).toContain("[secret]");
});

// Guarantee: the same in whatever spelling Google's JSON has it.
test("a secret that Google repeats with escaped characters is taken out", async () => {
  google.answer("oauth2/token", { body: { access_token: "ya29.a=b" } });
  google.answer("events:ingest", { status: 400, text: '{"error":{"message":"bad token ya29.a\\u003db"}}' });
  const { results } = await provider.uploadConversions([jobOf(1)], connectionOf());
  expect(results[0]?.message).toContain("bad token [secret]");
});
