import { Client, Receiver } from "@upstash/qstash";
import { SignJWT, UnsecuredJWT } from "jose";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Qstash, startQstash } from "#scripts/local/qstash/qstash.ts";
import { type RecordedRequest, type RecordingServer, startRecordingServer } from "#tests/support/recording-server.ts";

let qstash: Qstash;
let app: RecordingServer;
let client: Client;
let answerWith: (request: RecordedRequest, count: number) => number;

beforeEach(async () => {
  answerWith = () => 200;
  app = await startRecordingServer((request, count) => answerWith(request, count));
  qstash = await startQstash({ retryBaseMs: 1 });
  client = new Client({ baseUrl: qstash.url, token: qstash.token, enableTelemetry: false, retry: false });
});
afterEach(async () => {
  await qstash.stop();
  await app.stop();
});

const publish = (options: object = {}, body: object = { hello: 1 }) =>
  client.publishJSON({ url: `${app.url}/api/work?x=1`, body, ...options });
const bodies = () => app.requests.map((request) => JSON.parse(request.body));

describe("delivery", () => {
  // Guarantee: a wake-up reaches the route as it was published, with the headers that were asked to go along.
  test("a message arrives with its body, method, query and forwarded headers", async () => {
    await publish({ headers: { "x-request-id": "r1" }, method: "PUT" });
    await qstash.idle();
    expect(app.requests).toHaveLength(1);
    expect(app.requests[0]).toMatchObject({ method: "PUT", path: "/api/work?x=1", body: '{"hello":1}' });
    expect(app.requests[0]?.headers).toMatchObject({ "x-request-id": "r1", "content-type": "application/json", "upstash-retried": "0" });
  });

  // Guarantee: the coalescing window works: a delayed wake-up never overtakes the events it is to cover.
  test("a message with a delay or a time stays back while one published after it arrives", async () => {
    await publish({ delay: 600 }, { order: "delayed" });
    await publish({ notBefore: Math.floor(Date.now() / 1000) + 600 }, { order: "notBefore" });
    await publish({}, { order: "at once" });
    await expect.poll(bodies, { timeout: 20_000 }).toEqual([{ order: "at once" }]);
  });

  test("a delayed message arrives, and not before its time", async () => {
    const publishedAt = Date.now();
    const notBefore = Math.floor(publishedAt / 1000) + 2;
    await publish({ notBefore }, { order: "notBefore" });
    await publish({ delay: 1 }, { order: "delayed" });
    await expect.poll(bodies, { timeout: 20_000 }).toContainEqual({ order: "delayed" });
    expect(Date.now()).toBeGreaterThanOrEqual(publishedAt + 1000);
    await qstash.idle();
    expect(Date.now()).toBeGreaterThanOrEqual(notBefore * 1000);
    expect(bodies()).toHaveLength(2);
  });

  test("every message of a batch arrives", async () => {
    await client.batchJSON([
      { url: `${app.url}/a`, body: { n: 1 } },
      { url: `${app.url}/b`, body: { n: 2 } },
    ]);
    await qstash.idle();
    expect(app.requests.map((request) => request.path).toSorted()).toEqual(["/a", "/b"]);
  });

  // Guarantee: nobody but the holder of the token can make our QStash sign a request to the app.
  test("a publisher without the token is refused", async () => {
    const stranger = new Client({ baseUrl: qstash.url, token: "wrong", enableTelemetry: false, retry: false });
    await expect(stranger.publishJSON({ url: app.url, body: {} })).rejects.toThrow();
    expect(app.requests).toHaveLength(0);
  });
});

describe("deduplication", () => {
  // Guarantee: coalesced wake-ups cost one delivery, not one per event.
  test("two messages with one deduplication id are delivered once", async () => {
    const first = await publish({ deduplicationId: "site-1-second-7" });
    const second = await publish({ deduplicationId: "site-1-second-7" });
    await qstash.idle();
    expect(second).toMatchObject({ messageId: first.messageId, deduplicated: true });
    expect(app.requests).toHaveLength(1);
  });

  test("content-based deduplication joins equal bodies and no others", async () => {
    for (const n of [1, 1, 2]) await publish({ contentBasedDeduplication: true }, { n });
    await qstash.idle();
    expect(bodies().toSorted((a, b) => a.n - b.n)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  // Guarantee: hosted QStash refuses a colon; an id with one must not work here and fail there.
  test("a deduplication id with a colon is refused", async () => {
    await expect(publish({ deduplicationId: "site:7" })).rejects.toThrow(/deduplication id/);
  });
});

describe("retries", () => {
  // Guarantee: a route that is down for a moment still gets its wake-up, and one that stays down is not called for ever.
  test("a failing destination is tried again until it answers 2xx", async () => {
    answerWith = (_, count) => (count < 3 ? 500 : 200);
    await publish({ retries: 5 });
    await qstash.idle();
    expect(app.requests.map((request) => request.headers["upstash-retried"])).toEqual(["0", "1", "2"]);
  });

  test("a message is given up after its retries, and the failure callback is told", async () => {
    answerWith = ({ path }) => (path === "/failed" ? 200 : 503);
    await publish({ retries: 2, failureCallback: `${app.url}/failed` });
    await qstash.idle();
    expect(app.requests.map((request) => request.path)).toEqual(["/api/work?x=1", "/api/work?x=1", "/api/work?x=1", "/failed"]);
    const report = JSON.parse(app.requests[3]?.body ?? "");
    expect(report).toMatchObject({ status: 503, retried: 2, maxRetries: 2, url: `${app.url}/api/work?x=1` });
    expect(Buffer.from(report.sourceBody, "base64").toString()).toBe('{"hello":1}');
  });
});

describe("signature", () => {
  async function delivered() {
    await publish();
    await qstash.idle();
    const request = app.requests[0];
    if (!request) throw new Error("nothing arrived");
    return { signature: String(request.headers["upstash-signature"]), body: request.body, url: `${app.url}/api/work?x=1` };
  }
  const receiver = (currentSigningKey = qstash.currentSigningKey, nextSigningKey = qstash.nextSigningKey) =>
    new Receiver({ currentSigningKey, nextSigningKey });

  // Guarantee: the app verifies local deliveries with the code it verifies real ones with, also while keys rotate.
  test("the Receiver accepts it with the current and with the next key", async () => {
    const delivery = await delivered();
    expect(await receiver().verify(delivery)).toBe(true);
    expect(await receiver("sig_old", qstash.currentSigningKey).verify(delivery)).toBe(true);
  });

  // Guarantee: nobody can start a worker with a made-up, altered, redirected or stale message.
  test("forged deliveries are refused", async () => {
    const { signature, body, url } = await delivered();
    const verify = (forged: { signature: string; body: string; url: string }, keys = receiver()) => keys.verify(forged);
    const claims = { iss: "Upstash", sub: url, body: "x" };
    const expired = await new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime("-1 minute")
      .sign(new TextEncoder().encode(qstash.currentSigningKey));
    const unsigned = new UnsecuredJWT(claims).setExpirationTime("5 minutes").encode();

    await expect(verify({ signature, body, url }, receiver("sig_a", "sig_b"))).rejects.toThrow();
    await expect(verify({ signature, body: `${body} `, url })).rejects.toThrow();
    await expect(verify({ signature, body, url: `${app.url}/api/other` })).rejects.toThrow();
    await expect(verify({ signature: expired, body, url })).rejects.toThrow();
    await expect(verify({ signature: unsigned, body, url })).rejects.toThrow();
  });
});
