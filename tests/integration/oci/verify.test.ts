import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { writeWrongKeys } from "#lib/oci/script/wrong-keys.ts";
import { callAs } from "#tests/fixtures/act-as.ts";
import { type OciApp, type OciSite, startOciApp } from "#tests/support/oci-app.ts";
import { stopClock } from "#tests/support/stop-clock.ts";
import { startTestRedis, type TestRedis } from "#tests/support/test-redis.ts";

let redis: TestRedis;
let app: OciApp;
beforeAll(async () => {
  redis = await startTestRedis();
  app = await startOciApp({ redisRest: redis.rest });
});
afterAll(async () => {
  await app.stop();
  await redis.stop();
});
// Limits count by the minute: what is counted here must not begin in one and end in the next.
beforeEach(() => void stopClock());
afterEach(() => void vi.useRealTimers());

const shape = { error: expect.any(String), message: expect.any(String) };
const statusOf = (site: OciSite) =>
  callAs<{ runs: Record<string, unknown>[] }>(app.db.sql, site.owner, (tx) => tx`select public.script_status(${site.siteId})`);

test("a key of the site opens a session of five minutes that shows nothing of what is inside", async () => {
  const site = await app.newSite();
  const response = await app.verify({ siteId: site.siteId }, { "x-api-key": site.key });
  const body = await response.json();
  expect([response.status, Object.keys(body).toSorted()]).toEqual([200, ["expires_at", "session_token"]]);
  expect(Date.parse(body.expires_at) - Date.now()).toBe(5 * 60_000);
  const readable = body.session_token.split(".").map((part: string) => Buffer.from(part, "base64url").toString("latin1"));
  expect(readable.join()).not.toContain(site.siteUuid);
});

test("each refusal has its code", async () => {
  const site = await app.newSite();
  const refusal = async (body: unknown, headers: Record<string, string> = { "x-api-key": site.key }) => {
    const response = await app.verify(body, { "x-forwarded-for": randomBytes(4).toString("hex"), ...headers });
    const answer = await response.json();
    expect(answer).toEqual({ ...shape, code: expect.any(String) });
    return [response.status, answer.code];
  };
  expect(await refusal({ siteId: site.siteId }, {})).toEqual([401, "MISSING_API_KEY"]);
  expect(await refusal({})).toEqual([400, "VALIDATION_FAILED"]);
  expect(await refusal("not json")).toEqual([400, "VALIDATION_FAILED"]);
  expect(await refusal({ siteId: 7 })).toEqual([400, "VALIDATION_FAILED"]);
  expect(await refusal({ siteId: site.siteUuid })).toEqual([400, "IDENTITY_BOUNDARY"]);
  expect(await refusal({ siteId: site.siteId }, { "x-api-key": "om_wrong" })).toEqual([401, "INVALID_CREDENTIALS"]);
});

// Guarantee: nobody finds out which sites exist, or whose key they hold.
test("an unknown site, a wrong key and another site's key answer byte for byte the same", async () => {
  const [site, other] = [await app.newSite(), await app.newSite()];
  const answers = await Promise.all(
    [
      [randomBytes(16).toString("hex"), site.key],
      [site.siteId, "om_wrong"],
      [site.siteId, other.key],
    ].map(async ([siteId, key]) => {
      const response = await app.verify({ siteId }, { "x-api-key": String(key) });
      return [response.status, await response.text()];
    }),
  );
  expect(new Set(answers.map((answer) => answer.join())).size).toBe(1);
  expect(answers[0]?.[0]).toBe(401);
});

test("an owner sees that a wrong key was tried, many times as one line", async () => {
  const site = await app.newSite();
  for (let n = 0; n < 3; n++)
    await app.verify({ siteId: site.siteId }, { "x-api-key": "om_wrong", "x-opsmantik-script-version": `1.0.${n}` });
  await writeWrongKeys();
  await app.session(site);
  const { runs } = await statusOf(site);
  expect(runs.map(({ kind, errorCode, times }) => [kind, errorCode, times])).toEqual([
    ["verify", null, 1],
    ["verify", "INVALID_CREDENTIALS", 3],
  ]);
});

describe("limits", () => {
  // Guarantee: whoever reads the public id in a page cannot keep the site's script out.
  test("ten tries a minute from one address do not touch the tries from another", async () => {
    const site = await app.newSite();
    const attack = () => app.verify({ siteId: site.siteId }, { "x-api-key": "om_guess", "x-forwarded-for": "6.6.6.6" });
    const statuses = [];
    for (let n = 0; n < 11; n++) statuses.push((await attack()).status);
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
    const refused = await attack();
    expect(await refused.json()).toEqual({ ...shape, code: "RATE_LIMITED" });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await app.verify({ siteId: site.siteId }, { "x-api-key": site.key, "x-forwarded-for": "1.2.3.4" })).status).toBe(200);
  });

  test("a site has ten verifications, ten exports and thirty acks a minute, wherever they come from", async () => {
    const site = await app.newSite();
    const token = await app.session(site);
    const verify = (address: number) =>
      app.verify({ siteId: site.siteId }, { "x-api-key": site.key, "x-forwarded-for": `10.0.0.${address}` });
    const count = async (requests: number, run: (n: number) => Promise<Response>) => {
      const statuses: number[] = [];
      for (let n = 0; n < requests; n++) statuses.push((await run(n)).status);
      return [statuses.filter((status) => status === 200).length, statuses.at(-1)];
    };
    expect(await count(10, verify)).toEqual([9, 429]); // one was the session above
    expect(await count(11, () => app.exportRows(site, token))).toEqual([10, 429]);
    expect(await count(31, () => app.ack(site, token, ["seal_1"]))).toEqual([30, 429]);
    expect(await count(31, () => app.ackFailed(site, token, { queueIds: ["seal_1"] }))).toEqual([30, 429]);
  });
});

// Guarantee: without the limiter nothing is handed out and nothing is changed.
test("without Redis every route refuses before any work", async () => {
  const site = await app.newSite();
  const token = await app.session(site);
  const before = (await statusOf(site)).runs.length;
  await redis.stopServer();
  const answers = [
    await app.verify({ siteId: site.siteId }, { "x-api-key": site.key }),
    await app.exportRows(site, token),
    await app.ack(site, token, ["seal_1"]),
    await app.ackFailed(site, token, { queueIds: ["seal_1"] }),
  ];
  for (const answer of answers) {
    expect([answer.status, await answer.json()]).toEqual([503, { ...shape, code: "REDIS_UNAVAILABLE" }]);
    expect(answer.headers.get("retry-after")).toBe("5");
  }
  expect((await statusOf(site)).runs).toHaveLength(before);
});
