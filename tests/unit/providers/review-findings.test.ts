import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { ClaimedJob } from "#lib/delivery/pipeline.ts";
import { sendBatch } from "#lib/delivery/send-batch.ts";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import type { ConversionJob } from "#lib/providers/port.ts";
import { connectionOf, jobOf, type ScriptedGoogle, startScriptedGoogle, useGoogleEnv } from "#tests/support/scripted-google.ts";

let google: ScriptedGoogle;
beforeAll(async () => {
  google = await startScriptedGoogle();
  useGoogleEnv(google.url);
});
afterAll(() => google.stop());
beforeEach(() => {
  google.requests.length = 0;
});

const named = (jobs: ConversionJob[]): ClaimedJob[] => jobs.map((job) => ({ ...job, conversionName: "seal" }));
const send = (jobs: ConversionJob[], signal = AbortSignal.timeout(20_000), connection = connectionOf({ fetchTimeoutMs: 10_000 })) =>
  sendBatch(
    { token: randomUUID(), gate: "CLOSED", jobs: named(jobs), credentialsVersion: 1 },
    { provider: googleAds(), providerKey: "google_ads", connection, signal, now: () => new Date() },
  );

// Guarantee: "Messages pass withoutSecrets and the log's redaction before they are stored" (docs/delivery.md) holds for the message of a block, too.
test("the message of a block shows no address", async () => {
  google.answer("events:ingest", {
    status: 403,
    body: { error: { status: "PERMISSION_DENIED", message: "mary.smith@customer.test has no access" } },
  });
  const { results, facts } = await send([jobOf(1)]);
  expect(results[0]?.message).not.toContain("mary.smith@");
  expect(facts.block?.message).not.toContain("mary.smith@");
});

// Guarantee: no secret reaches a row, in whatever spelling Google's JSON has it.
test("a secret that Google repeats with escaped characters is taken out", async () => {
  const { createServer } = await import("node:http");
  const { fetchJson } = await import("#lib/providers/google/fetch-json.ts");
  const server = createServer((_request, response) => response.writeHead(400).end('{"error":{"message":"bad token ya29.a\\u003db"}}'));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const answer = await fetchJson(`http://127.0.0.1:${port}/`, {}, {}, ["ya29.a=b"]);
  server.close();
  expect(JSON.stringify(answer.body)).not.toContain("ya29.a=b");
});
