import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { AdsAccount } from "#tests/fixtures/ads-script/ads-account.ts";
import { type OciApp, startOciApp } from "#tests/support/oci-app.ts";
import { describeScriptDelivery } from "#tests/support/script/delivery-scenarios.ts";
import { describeScriptFaults } from "#tests/support/script/fault-scenarios.ts";
import { describeScriptOverlap } from "#tests/support/script/overlap-scenarios.ts";
import { openRealOciServer } from "#tests/support/script/real-oci-server.ts";

vi.setConfig({ testTimeout: 180_000 }); // 1,200 sealed leads take their time to be made

let app: OciApp;
beforeAll(async () => {
  app = await startOciApp();
});
afterAll(() => app.stop());

/** The script that customers paste, against the routes that they meet. */
describe("delivery", () => describeScriptDelivery(() => openRealOciServer(app)));
describe("faults", () => describeScriptFaults(() => openRealOciServer(app)));
describe("overlap", () => describeScriptOverlap(() => openRealOciServer(app)));

// Guarantee: an account in which the script runs twice at the same time counts each sale once and uploads it once.
test("two scripts at once share no conversion", async () => {
  const server = await openRealOciServer(app);
  try {
    const ids = await server.enqueue(300);
    const properties = { OPSMANTIK_SITE_ID: server.siteId, OPSMANTIK_API_KEY: server.apiKey, OPSMANTIK_BASE_URL: server.url };
    const accounts = [new AdsAccount(properties), new AdsAccount(properties)];
    const runs = await Promise.all(accounts.map((account) => account.runScript()));
    expect(runs.map(({ error }) => error)).toEqual([null, null]);
    const uploaded = runs.flatMap(({ files }) => files.flatMap(({ rows }) => rows.map((row) => row["Order ID"])));
    expect([uploaded.length, new Set(uploaded).size]).toEqual([300, 300]);
    expect(new Set((await server.statesOf(ids)).map(({ status }) => status))).toEqual(new Set(["COMPLETED"]));
  } finally {
    await server.stop();
  }
});
