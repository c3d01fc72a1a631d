import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test } from "vitest";
import { demoCustomerId } from "#scripts/local/google/accounts.ts";
import { checkoutDir } from "#scripts/local/process/state-dir.ts";
import { GoogleClient } from "#tests/fixtures/worker/google-client.ts";

let stateDir = "";
const stops: (() => Promise<unknown>)[] = [];
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "opsmantik-google-"));
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  rmSync(stateDir, { recursive: true, force: true });
});

async function startChild(): Promise<{ google: GoogleClient; kill(): Promise<void> }> {
  const script = join(checkoutDir, "tests/fixtures/worker/google-in-child.ts");
  const child = spawn(process.execPath, [script, stateDir], { stdio: ["ignore", "pipe", "inherit"] });
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  stops.push(kill);
  for await (const url of createInterface({ input: child.stdout })) return { google: new GoogleClient(url), kill };
  throw new Error("The simulator did not start in its child process.");
}

const time = new Date(Date.now() - 36_000_000);
const adsTime = (at: Date) => `${at.toISOString().slice(0, 19).replace("T", " ")}+00:00`;
const ingest = (google: GoogleClient, transactionId: string, conversionValue: number) =>
  google.ingest({
    destinations: [{ operatingAccount: { accountType: "GOOGLE_ADS", accountId: demoCustomerId }, productDestinationId: "1005" }],
    events: [
      {
        transactionId,
        eventTimestamp: time.toISOString(),
        eventSource: "MESSAGE",
        conversionValue,
        currency: "TRY",
        adIdentifiers: { gclid: `Cj0KCQ-${transactionId}` },
      },
    ],
  });
const scriptUpload = (google: GoogleClient, orderId: string, value: number, change: object = {}) =>
  google.admin("POST", "/script-uploads", {
    customerId: demoCustomerId,
    columns: ["Order ID", "Google Click ID", "Conversion name", "Conversion time", "Conversion value", "Conversion currency"],
    rows: [
      {
        "Order ID": orderId,
        "Google Click ID": `Cj0KCQ-${orderId}`,
        "Conversion name": "OpsMantik_V5_DEMIR_MUHUR",
        "Conversion time": adsTime(time).replace("+00:00", "+0000"),
        "Conversion value": value,
        "Conversion currency": "TRY",
        ...change,
      },
    ],
  });
const adjust = (google: GoogleClient, change: object) =>
  google.adsApi(`${demoCustomerId}:uploadConversionAdjustments`, {
    conversionAdjustments: [
      {
        conversionAction: `customers/${demoCustomerId}/conversionActions/1005`,
        adjustmentDateTime: adsTime(new Date()),
        ...change,
      },
    ],
    partialFailure: true,
  });

// Guarantee: a switch between script and API is judged by one truth, as Google would judge it.
test("what a script sent and what the APIs send are the same conversion", async () => {
  const { google } = await startChild();
  expect(await scriptUpload(google, "seal_1", 1500)).toEqual({ counted: 1, duplicates: 0, rejected: [] });
  const { body } = await ingest(google, "seal_1", 1500);
  await google.advance(1800);
  expect((await google.requestStatus(body.requestId)).body.requestStatusPerDestination[0].errorInfo.errorCounts).toMatchObject([
    { reason: "PROCESSING_ERROR_REASON_DUPLICATE_TRANSACTION_ID" },
  ]);
  expect((await adjust(google, { adjustmentType: "RETRACTION", orderId: "seal_1" })).body).not.toHaveProperty("partialFailureError");
  expect(await scriptUpload(google, "seal_1", 1500)).toEqual({ counted: 0, duplicates: 1, rejected: [] });
  await ingest(google, "seal_1", 900);
  await google.advance(1800);
  expect(await google.conversions()).toMatchObject([{ orderId: "seal_1", value: 1500, isRetracted: true, via: "script", sends: 4 }]);
});

test("a script's row that Google refuses counts nothing and says why to the test alone", async () => {
  const { google } = await startChild();
  for (const [change, reason] of [
    [{ "Google Click ID": "nonsense" }, "unparseable"],
    [{ WBRAID: "0AAAA-w" }, "not one click id"],
    [{ "Conversion name": "Renamed" }, "no such conversion action"],
    [{ "Conversion time": "yesterday" }, "malformed time"],
    [{ "Conversion value": "1500" }, "malformed value"],
  ] as const) {
    expect(await scriptUpload(google, "seal_1", 1500, change)).toMatchObject({ counted: 0, rejected: [{ orderId: "seal_1", reason }] });
  }
  expect(await google.conversions()).toEqual([]);
});

// Guarantee: what a caller was told survives the simulator's death, so a storm that kills it still compares with the truth.
test("a killed simulator comes back with its conversions, requests, faults, clock, accounts and log", async () => {
  const first = await startChild();
  await first.google.putAccount({ name: "Renamed", uploads: "allowed" });
  await first.google.addFault({ match: { service: "ads_api" }, kind: "status", status: 503, times: 2 });
  await ingest(first.google, "seal_1", 1500);
  await first.google.advance(1800);
  const { body } = await ingest(first.google, "seal_2", 700);
  expect((await adjust(first.google, { adjustmentType: "RETRACTION", orderId: "seal_1" })).status).toBe(503);
  const before = [await first.google.conversions(), await first.google.log()];
  await first.kill();
  appendFileSync(join(stateDir, "google.jsonl"), '{"changes":[["conversions","half');

  const { google } = await startChild();
  expect([await google.conversions(), await google.log()]).toEqual(before);
  expect((await google.admin("GET", "/accounts")).accounts).toMatchObject([{ name: "Renamed" }]);
  expect((await google.requestStatus(body.requestId)).body.requestStatusPerDestination).toMatchObject([{ requestStatus: "PROCESSING" }]);
  await google.advance(1800);
  expect((await google.requestStatus(body.requestId)).body.requestStatusPerDestination).toMatchObject([{ requestStatus: "SUCCESS" }]);
  expect((await adjust(google, { adjustmentType: "RETRACTION", orderId: "seal_1" })).status).toBe(503);
  expect((await adjust(google, { adjustmentType: "RETRACTION", orderId: "seal_1" })).status).toBe(200);
  expect(await google.conversions()).toMatchObject([{ orderId: "seal_1", isRetracted: true }, { orderId: "seal_2" }]);
  expect(readFileSync(join(stateDir, "google.jsonl"), "utf8")).not.toContain("half");
});
