import { expect, test } from "vitest";
import { ackPath, exportPath, type OpenScriptServer, ScriptBench, verifyPath } from "./script-bench.ts";

/** What must hold when the server, the way to it or the run itself breaks down. */
export function describeScriptFaults(openServer: OpenScriptServer): void {
  const bench = new ScriptBench(openServer);

  test.each([exportPath, ackPath])("a session that expires before %s is renewed", async (path) => {
    const ids = await bench.server.enqueue(2);
    bench.faultAt(path, "expire session", { times: 1 });
    expect(await bench.account.runScript()).toMatchObject({ error: null, sleepsMs: [] });
    expect(bench.sentTo(verifyPath)).toHaveLength(2);
    expect([bench.booked, bench.account.duplicates]).toEqual([2, []]);
    expect(await bench.statuses(ids)).toEqual(["COMPLETED"]);
  });

  test("a session that is refused right after its renewal ends the run", async () => {
    await bench.server.enqueue(1);
    bench.faultAt(exportPath, { status: 401, body: { code: "INVALID_SESSION_TOKEN" } });
    expect((await bench.account.runScript()).error).toContain("HTTP 401 INVALID_SESSION_TOKEN");
    expect(bench.paths).toEqual([verifyPath, exportPath, verifyPath, exportPath]);
  });

  test("429 waits as long as it is told", async () => {
    const ids = await bench.server.enqueue(1);
    bench.faultAt(exportPath, { status: 429, headers: { "retry-after": "37" } }, { times: 1 });
    expect(await bench.account.runScript()).toMatchObject({ error: null, sleepsMs: [37_000] });
    expect(await bench.statuses(ids)).toEqual(["COMPLETED"]);
  });

  test("a time to come back at is understood, too", async () => {
    await bench.server.enqueue(1);
    bench.faultAt(exportPath, { status: 503, headers: { "retry-after": new Date(Date.now() + 200_000).toUTCString() } }, { times: 1 });
    const { error, sleepsMs } = await bench.account.runScript();
    expect([error, sleepsMs.length]).toEqual([null, 1]);
    expect(sleepsMs[0]).toBeGreaterThan(16_000); // more than any wait of its own
    expect(sleepsMs[0]).toBeLessThanOrEqual(200_000);
  });

  test("a wait that Google's runtime does not have leaves the rest to the next run", async () => {
    await bench.server.enqueue(1);
    bench.faultAt(exportPath, { status: 429, headers: { "retry-after": "3600" } });
    const run = await bench.account.runScript();
    expect(run).toMatchObject({ sleepsMs: [], files: [] });
    expect(run.error).toContain("The next run tries again.");
  });

  test("errors of the server and lost connections are tried again, each time later", async () => {
    const ids = await bench.server.enqueue(1);
    bench.faultAt(exportPath, { status: 500 }, { times: 1 });
    bench.faultAt(exportPath, { status: 503 }, { times: 1 });
    bench.faultAt(exportPath, "drop", { times: 1 });
    const { error, sleepsMs } = await bench.account.runScript();
    expect(error).toBe(null);
    expect(sleepsMs).toHaveLength(3);
    for (const [index, ms] of sleepsMs.entries()) {
      expect(ms).toBeGreaterThanOrEqual(1000 * 2 ** index);
      expect(ms).toBeLessThanOrEqual(2000 * 2 ** index);
    }
    expect(await bench.statuses(ids)).toEqual(["COMPLETED"]);
  });

  // Guarantee: a refusal is heard at once. Repeating it would only spend the rate limit of those who may be served.
  test.each([400, 403, 404, 409, 422])("%d is not tried again", async (status) => {
    bench.faultAt(exportPath, { status, body: { error: "REFUSED", code: "REFUSED", message: "No." } });
    expect(await bench.account.runScript()).toMatchObject({ error: expect.stringContaining(`HTTP ${status} REFUSED: No.`), sleepsMs: [] });
    expect(bench.sentTo(exportPath)).toHaveLength(1);
  });

  test("a server that is down ends the run after five tries, before anything is claimed", async () => {
    const ids = await bench.server.enqueue(1);
    await bench.proxy.stop();
    const run = await bench.account.runScript();
    expect(run).toMatchObject({ error: expect.stringContaining("gave up on /api/oci/v2/verify: no connection"), files: [] });
    expect(run.sleepsMs).toHaveLength(4);
    expect(await bench.statuses(ids)).toEqual(["QUEUED"]);
  });

  test("a wrong key is refused once and never shown", async () => {
    bench.account.properties.OPSMANTIK_API_KEY = "om_wrong";
    const run = await bench.account.runScript();
    expect(run.error).toMatch(/verify was refused: HTTP 401 INVALID_(CREDENTIALS|API_KEY)/);
    expect(bench.paths).toEqual([verifyPath]);
    expect(run.logs.join() + run.error).not.toContain("om_wrong");
  });

  test("a redirect does not carry the key elsewhere", async () => {
    bench.faultAt(verifyPath, { status: 308, headers: { location: `${bench.server.url}${verifyPath}` } });
    expect((await bench.account.runScript()).error).toContain(`redirects to ${bench.server.url}`);
    expect(bench.paths).toEqual([verifyPath]);
  });

  test.each([
    ["not JSON", verifyPath, { tamper: () => undefined }],
    ["no session", verifyPath, { tamper: () => ({}) }],
    ["not a list", exportPath, { tamper: () => ({ data: [] }) }],
  ])("an answer that is %s ends the run", async (_name, path, does) => {
    await bench.server.enqueue(1);
    bench.faultAt(path, does);
    expect(await bench.account.runScript()).toMatchObject({
      error: expect.stringContaining("OPSMANTIK_BASE_URL"),
      files: [],
      sleepsMs: [],
    });
  });

  // Guarantee: a lost answer costs nothing: the second acknowledgement finds the first one's work done.
  test("an acknowledgement whose answer was lost is repeated", async () => {
    const ids = await bench.server.enqueue(2);
    bench.faultAt(ackPath, "lose answer", { times: 1 });
    const run = await bench.account.runScript();
    expect(run.error).toBe(null);
    expect(run.logs).toContain("OpsMantik | acknowledged 2, the server has 2 of them as delivered");
    expect(run.files).toHaveLength(1);
    expect(await bench.statuses(ids)).toEqual(["COMPLETED"]);
  });

  // Guarantee: what Google has is not sent again because the acknowledgement did not get through.
  test("what could not be acknowledged is noted, and acknowledged by the next run before it asks for more", async () => {
    const ids = await bench.server.enqueue(400);
    bench.faultAt(ackPath, "drop", { times: 5 });
    expect((await bench.account.runScript()).error).toContain("gave up on /api/oci/ack: no connection");
    expect([bench.booked, await bench.statuses(ids)]).toEqual([400, ["PROCESSING"]]);
    await bench.server.recover(); // a late acknowledgement counts, too
    const next = await bench.account.runScript();
    expect(next).toMatchObject({ error: null, files: [] });
    expect(await bench.statuses(ids)).toEqual(["COMPLETED"]);
    expect(Object.keys(bench.account.properties).filter((key) => key.includes("UNACKED"))).toEqual([]);
  });

  // Guarantee: even where the note is lost, a sale is counted once.
  test("a run that is ended right after its upload sends again, and Google takes it for what it is", async () => {
    const ids = await bench.server.enqueue(3);
    expect(await bench.account.runScript({ endsAfterApply: 1 })).toMatchObject({ isEnded: false, error: null });
    expect([bench.booked, await bench.statuses(ids)]).toEqual([3, ["PROCESSING"]]);
    await bench.server.recover();
    expect((await bench.account.runScript()).error).toBe(null);
    expect([bench.booked, bench.account.duplicates.length]).toEqual([3, 3]);
    expect(await bench.statuses(ids)).toEqual(["COMPLETED"]);
  });

  test("a note that the server does not take is dropped, not repeated for ever", async () => {
    bench.account.properties.OPSMANTIK_UNACKED_0 = "seal_1,seal_2";
    const ids = await bench.server.enqueue(1);
    bench.faultAt(ackPath, { status: 400, body: { code: "VALIDATION_FAILED" } }, { times: 1 });
    expect((await bench.account.runScript()).error).toBe(null);
    expect(bench.account.properties).not.toHaveProperty("OPSMANTIK_UNACKED_0");
    expect(await bench.statuses(ids)).toEqual(["COMPLETED"]);
  });
}
