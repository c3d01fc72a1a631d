import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type CronTicker, startCronTicker } from "#scripts/local/cron/cron-ticker.ts";
import { type RecordingServer, startRecordingServer } from "#tests/support/recording-server.ts";

let app: RecordingServer;
let ticker: CronTicker;
let dir = "";
let reports: string[] = [];
const often = ["/api/cron/deliver", "/api/cron/not-there-yet"];
let answer: (path: string) => number | Promise<number> = () => 200;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "opsmantik-cron-"));
  reports = [];
  answer = () => 200;
  app = await startRecordingServer(({ path }) => answer(path));
  const vercelJsonPath = join(dir, "vercel.json");
  const crons = [
    { path: "/api/cron/often", schedule: "* * * * *" },
    { path: "/api/cron/daily", schedule: "17 3 * * *" },
    { path: "/api/cron/deliver", schedule: "* * * * *" },
  ];
  writeFileSync(vercelJsonPath, JSON.stringify({ crons }));
  ticker = startCronTicker({ baseUrl: app.url, cronSecret: "a-cron-secret", vercelJsonPath, report: (line) => reports.push(line), often });
});
afterEach(async () => {
  ticker.stop();
  await app.stop();
  rmSync(dir, { recursive: true, force: true });
});

const paths = () => app.requests.map((request) => request.path).toSorted();

// Guarantee: the embedded stack calls cron routes exactly as Vercel does, so a route that works here works there.
test("due routes are called with GET and the secret, others are not", async () => {
  await ticker.tick(new Date("2026-11-16T03:16:00Z"));
  expect(paths()).toEqual(["/api/cron/often"]);
  await ticker.tick(new Date("2026-11-16T03:17:00Z"));
  expect(paths()).toEqual(["/api/cron/daily", "/api/cron/often", "/api/cron/often"]);
  expect(app.requests[0]).toMatchObject({ method: "GET", headers: { authorization: "Bearer a-cron-secret" } });
});

// Guarantee: a slow sweep is never joined by a second one from the same ticker.
test("two runs of one route never overlap", async () => {
  const release = Promise.withResolvers<number>();
  answer = () => release.promise;
  const slow = ticker.tick(new Date("2026-11-16T03:00:00Z"));
  await ticker.tick(new Date("2026-11-16T03:01:00Z"));
  expect(reports).toEqual([expect.stringContaining("still going")]);
  release.resolve(200);
  await slow;
  expect(paths()).toEqual(["/api/cron/often"]);
});

// Guarantee: a failing cron is seen by whoever runs the demo.
test("a failure is reported with its status", async () => {
  answer = () => 503;
  await ticker.tick(new Date("2026-11-16T03:00:00Z"));
  expect(reports).toEqual([expect.stringContaining("/api/cron/often: 503")]);
});

// Guarantee: the demo delivers within seconds through the very routes that Vercel calls, and a route that fails does not flood its screen.
describe("a path that is called often", () => {
  test("leaves its schedule, and is called whether or not vercel.json has it", async () => {
    await ticker.tick(new Date("2026-11-16T03:00:00Z"));
    expect(paths()).toEqual(["/api/cron/often"]);
    await ticker.tickOften();
    expect(paths()).toEqual(["/api/cron/deliver", "/api/cron/not-there-yet", "/api/cron/often"]);
    expect(app.requests[1]).toMatchObject({ method: "GET", headers: { authorization: "Bearer a-cron-secret" } });
  });

  test("reports a failure when it begins and when it changes", async () => {
    answer = (path) => (path === "/api/cron/not-there-yet" ? 404 : 200);
    await ticker.tickOften();
    await ticker.tickOften();
    expect(reports).toEqual([expect.stringContaining("/api/cron/not-there-yet: 404")]);
    answer = () => 503;
    await ticker.tickOften();
    expect(reports.slice(1).toSorted()).toEqual([expect.stringContaining("deliver: 503"), expect.stringContaining("not-there-yet: 503")]);
    answer = () => 200;
    await ticker.tickOften();
    answer = () => 503;
    await ticker.tickOften();
    expect(reports).toHaveLength(5);
  });

  test("is not joined by a second run, silently", async () => {
    const release = Promise.withResolvers<number>();
    answer = () => release.promise;
    const slow = ticker.tickOften();
    await ticker.tickOften();
    release.resolve(200);
    await slow;
    expect([app.requests.length, reports]).toEqual([2, []]);
  });
});
