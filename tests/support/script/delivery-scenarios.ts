import { expect, test } from "vitest";
import { AdsAccount } from "#tests/fixtures/ads-script/ads-account.ts";
import golden from "#tests/support/conversion-time-golden.json" with { type: "json" };
import { ackPath, type ExportedRow, exportPath, failedPath, type OpenScriptServer, ScriptBench, verifyPath } from "./script-bench.ts";

/** What must hold between the script that customers paste and a server, whichever one, while both are well. */
export function describeScriptDelivery(openServer: OpenScriptServer): void {
  const bench = new ScriptBench(openServer);

  test("what is waiting is handed to Google and acknowledged, and nothing else is said", async () => {
    const ids = await bench.server.enqueue(3);
    const run = await bench.account.runScript();
    expect(run).toMatchObject({ error: null, isEnded: true, sleepsMs: [] });
    expect(bench.paths).toEqual([verifyPath, exportPath, ackPath]);
    expect(bench.proxy.requests.every(({ headers }) => /^\d+\.\d+\.\d+$/.test(String(headers["x-opsmantik-script-version"])))).toBe(true);
    expect(run.files).toMatchObject([{ timeZone: "Europe/Istanbul", droppedKeys: [] }]);
    expect(run.files[0]?.name).toMatch(/^opsmantik_.*_1_gclid\.csv$/);
    expect([bench.booked, bench.account.rejected, bench.account.duplicates]).toEqual([3, [], []]);
    expect(await bench.statuses(ids)).toEqual(["COMPLETED"]);
    expect(bench.account.properties).not.toHaveProperty("OPSMANTIK_UNACKED_0");
    expect(run.logs.at(-1)).toBe("OpsMantik | done: 3 handed to Google, 0 refused, 0 failed");
    bench.expectNoSecretIn(run);
  });

  test("nothing waiting is no file and no acknowledgement", async () => {
    expect(await bench.account.runScript()).toMatchObject({ error: null, files: [] });
    expect(bench.paths).toEqual([verifyPath, exportPath]);
  });

  // Guarantee: a click id never stands in a column where Google cannot read it.
  test("each kind of click id goes into a file and a column of its own", async () => {
    const ids = [
      ...(await bench.server.enqueue(2)),
      ...(await bench.server.enqueue(3, "wbraid")),
      ...(await bench.server.enqueue(1, "gbraid")),
    ];
    const run = await bench.account.runScript();
    expect(run.files.map((file) => [file.columns[0], file.rows.length])).toEqual([
      ["Google Click ID", 2],
      ["WBRAID", 3],
      ["GBRAID", 1],
    ]);
    expect([bench.booked, bench.account.rejected]).toEqual([6, []]);
    expect(await bench.statuses(ids)).toEqual(["COMPLETED"]);
  });

  test("a conversion with several click ids is sent with one, the gclid first", async () => {
    await bench.server.enqueue(1);
    bench.tamper((row) => ({ ...row, wbraid: "0AAAA-w", gbraid: "0AAAA-b" }));
    const run = await bench.account.runScript();
    expect(run.files.map((file) => file.columns)).toEqual([expect.arrayContaining(["Google Click ID"])]);
    expect([bench.booked, bench.account.rejected]).toEqual([1, []]);
  });

  // Guarantee: what Google did not take is never called delivered.
  test("an apply() that throws is reported as transient and acknowledges nothing", async () => {
    const ids = await bench.server.enqueue(2);
    const run = await bench.account.runScript({ applyThrowsAt: [1] });
    expect(run.error).toContain("0 handed to Google, 0 refused, 2 failed");
    expect(bench.paths).toEqual([verifyPath, exportPath, failedPath]);
    expect(bench.sentTo(failedPath)[0]?.body).toMatchObject({
      errorCode: "APPLY_FAILED",
      errorCategory: "TRANSIENT",
      queueIds: expect.arrayContaining(ids),
    });
    expect((await bench.server.statesOf(ids))[0]).toMatchObject({ status: "FAILED", code: "APPLY_FAILED", category: "TRANSIENT" });
    expect(bench.booked).toBe(0);
  });

  test("a file that Google refuses takes no conversion of another kind with it", async () => {
    const clicks = await bench.server.enqueue(2);
    const braids = await bench.server.enqueue(2, "wbraid");
    const run = await bench.account.runScript({ applyThrowsAt: [2] });
    expect(run.error).toContain("2 handed to Google, 0 refused, 2 failed");
    expect([await bench.statuses(clicks), await bench.statuses(braids)]).toEqual([["COMPLETED"], ["FAILED"]]);
  });

  test("page views are never reported as failed", async () => {
    await bench.server.enqueue(1);
    bench.tamper((row) => ({ ...row, id: "pv_0123456789abcdef", conversionValue: 0 }));
    expect((await bench.account.runScript({ applyThrowsAt: [1] })).error).toContain("1 failed");
    expect(bench.paths).toEqual([verifyPath, exportPath]);
  });

  // Guarantee: looking at what would happen changes nothing, at Google or here.
  test("a preview claims, uploads and acknowledges nothing and says what would be sent", async () => {
    const ids = await bench.server.enqueue(60);
    const run = await bench.account.runScript({ isPreview: true });
    expect(run).toMatchObject({ error: null, files: [] });
    // What it made of a test conversion is the one thing that a preview says; a fake server has none.
    expect(bench.paths.filter((path) => path !== "/api/oci/test-answer")).toEqual([verifyPath, exportPath]);
    expect(await bench.statuses(ids)).toEqual(["QUEUED"]);
    expect(run.logs.filter((line) => line.includes("would send"))).toHaveLength(50);
    expect(run.logs.filter((line) => line.includes("PREVIEW")).at(-1)).toBe("OpsMantik | PREVIEW: and 10 more");
    expect(bench.account.properties).not.toHaveProperty("OPSMANTIK_UNACKED_0");
    bench.expectNoSecretIn(run);
  });

  test("1,200 conversions go page by page, each acknowledged once", async () => {
    const ids = await bench.server.enqueue(1200);
    const run = await bench.account.runScript();
    expect(run.error).toBe(null);
    expect(bench.sentTo(exportPath)).toHaveLength(Math.ceil(1200 / bench.server.pageSize));
    const acked = bench.sentTo(ackPath).map(({ body }) => (body as { queueIds: string[] }).queueIds); // our own script's
    expect(Math.max(...acked.map((chunk) => chunk.length))).toBeLessThanOrEqual(500);
    expect(acked.flat().toSorted()).toEqual(ids.toSorted());
    expect([bench.booked, bench.account.rejected, bench.account.duplicates]).toEqual([1200, [], []]);
    expect(await bench.statuses(ids)).toEqual(["COMPLETED"]);
  });

  test("a run that has used 25 minutes begins no new page", async () => {
    const ids = await bench.server.enqueue(bench.server.pageSize + 1);
    const run = await bench.account.runScript({ secondsPerApply: 26 * 60 });
    expect(run).toMatchObject({ error: null, logs: expect.arrayContaining(["OpsMantik | time is up: the rest goes with the next run"]) });
    expect([bench.booked, bench.sentTo(exportPath).length]).toEqual([bench.server.pageSize, 1]);
    expect(await bench.statuses(ids)).toEqual(["COMPLETED", "QUEUED"]);
  });

  test("after a failed file no further page is claimed", async () => {
    const ids = await bench.server.enqueue(bench.server.pageSize + 1);
    await bench.account.runScript({ applyThrowsAt: [1] });
    expect(bench.sentTo(exportPath)).toHaveLength(1);
    expect(await bench.statuses(ids)).toEqual(["FAILED", "QUEUED"]);
  });

  test("an empty page that promises more is not asked for again", async () => {
    bench.faultAt(exportPath, { status: 200, headers: { "x-opsmantik-more": "true" }, body: [] });
    expect((await bench.account.runScript()).error).toBe(null);
    expect(bench.sentTo(exportPath)).toHaveLength(1);
  });

  // Guarantee: one bad row neither stops the good ones nor is lost from sight.
  test("rows that cannot be sent are reported by what is wrong with them, and the others go", async () => {
    const wrong: [string, ExportedRow][] = [
      ["INVALID_CONVERSION_TIME", { conversionTime: "2026-11-16 14:03:22+03:00" }],
      ["INVALID_CONVERSION_TIME", { conversionTime: null }],
      ["MISSING_CLICK_ID", { gclid: "" }],
      ["INVALID_CLICK_ID", { gclid: "gclid 1" }],
      ["INVALID_CONVERSION_NAME", { conversionName: "" }],
      ["INVALID_CONVERSION_VALUE", { conversionValue: -1 }],
      ["INVALID_CONVERSION_VALUE", { conversionValue: "1500" }],
      ["INVALID_CURRENCY", { conversionCurrency: "TL" }],
      ["INVALID_ORDER_ID", { orderId: "" }],
      ["INVALID_ORDER_ID", { orderId: "x".repeat(65) }],
    ];
    const ids = await bench.server.enqueue(wrong.length + 3);
    const codes = new Map<string, string[]>();
    bench.tamper((row, index) => {
      const [code, change] = wrong[index] ?? [];
      if (code) codes.set(code, [...(codes.get(code) ?? []), String(row.id)]);
      if (index === wrong.length) return { ...row, id: "'; drop table --" };
      if (index === wrong.length + 1) return null;
      return { ...row, ...change };
    });
    const run = await bench.account.runScript();
    expect(run).toMatchObject({
      error: null,
      logs: expect.arrayContaining(["OpsMantik | done: 1 handed to Google, 12 refused, 0 failed"]),
    });
    const reported = bench.sentTo(failedPath).map(({ body }) => body as { errorCode: string; errorCategory: string; queueIds: string[] }); // our own script's
    expect(new Map(reported.map(({ errorCode, queueIds }) => [errorCode, queueIds]))).toEqual(codes);
    expect(new Set(reported.map(({ errorCategory }) => errorCategory))).toEqual(new Set(["VALIDATION"]));
    expect([bench.booked, bench.account.rejected]).toEqual([1, []]);
    expect(await bench.statuses(ids)).toEqual(["COMPLETED", "FAILED", "PROCESSING"]);
    bench.expectNoSecretIn(run);
  });

  // Guarantee: the script takes exactly the times that the server writes.
  test("every golden time is sent as it is, and no malformed one", async () => {
    const wellFormed = golden.times.map(([, , script = ""]) => script);
    const times = [...wellFormed, ...golden.malformed];
    await bench.server.enqueue(times.length);
    bench.tamper((row, index) => ({ ...row, conversionTime: times[index] }));
    const run = await bench.account.runScript();
    expect(run.files.flatMap((file) => file.rows.map((row) => row["Conversion time"]))).toEqual(wellFormed);
    expect(bench.account.rejected).toEqual([]);
    expect(bench.sentTo(failedPath).map(({ body }) => body)).toMatchObject([{ errorCode: "INVALID_CONVERSION_TIME" }]);
  });

  test.each([
    ["OPSMANTIK_SITE_ID", "", "OPSMANTIK_SITE_ID is missing"],
    ["OPSMANTIK_API_KEY", " ", "OPSMANTIK_API_KEY is missing"],
    ["OPSMANTIK_BASE_URL", "", "OPSMANTIK_BASE_URL is missing"],
    ["OPSMANTIK_SITE_ID", "0190b5a0-0000-7000-8000-000000000000", "OPSMANTIK_SITE_ID must be the 32 characters"],
    ["OPSMANTIK_BASE_URL", "http://example.com", "OPSMANTIK_BASE_URL must be an https:// address"],
    ["OPSMANTIK_BASE_URL", "http://localhost.example.com", "OPSMANTIK_BASE_URL must be an https:// address"],
  ])("%s = %j says what is wrong with it", async (name, value, message) => {
    bench.account.properties[name] = value;
    expect((await bench.account.runScript()).error).toContain(message);
    expect(bench.proxy.requests).toEqual([]);
  });

  test("values at the top of the file go before script properties", async () => {
    const ids = await bench.server.enqueue(1);
    const edit = (source: string) =>
      source
        .replace('var OPSMANTIK_SITE_ID = ""', `var OPSMANTIK_SITE_ID = "${bench.server.siteId}"`)
        .replace('var OPSMANTIK_API_KEY = ""', `var OPSMANTIK_API_KEY = "${bench.server.apiKey}"`)
        .replace("{{OPSMANTIK_BASE_URL}}", bench.proxy.url);
    const account = new AdsAccount({ OPSMANTIK_BASE_URL: "https://elsewhere.example" });
    expect((await account.runScript({ edit })).error).toBe(null);
    expect(await bench.statuses(ids)).toEqual(["COMPLETED"]);
  });
}
