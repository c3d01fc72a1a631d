import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type CronTicker, startCronTicker } from "#scripts/local/cron/cron-ticker.ts";
import { type RecordingServer, startRecordingServer } from "#tests/support/recording-server.ts";

let app: RecordingServer;
let ticker: CronTicker;
let dir = "";
let reports: string[] = [];
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
  ];
  writeFileSync(vercelJsonPath, JSON.stringify({ crons }));
  ticker = startCronTicker({ baseUrl: app.url, cronSecret: "a-cron-secret", vercelJsonPath, report: (line) => reports.push(line) });
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
