import { rmSync } from "node:fs";
import { join } from "node:path";
import { type AppOptions, startApp } from "#scripts/local/app-server.ts";
import { freePort } from "#scripts/local/free-port.ts";
import { startPostgres } from "#scripts/local/postgres.ts";
import { seedDemo } from "#scripts/local/seed-demo.ts";
import type { ServiceProcess } from "#scripts/local/service-process.ts";
import { type Stack, startStack } from "#scripts/local/stack.ts";
import { temporaryStateDir } from "#scripts/local/state-dir.ts";
import { expect, fillSignIn, test } from "#tests/support/e2e-test.ts";

/** A stack and an app of its own, since this test takes them down. */
const stateDir = temporaryStateDir();
let stack: Stack;
let app: ServiceProcess;
let url: string;

test.beforeAll(async () => {
  const port = await freePort();
  url = `http://localhost:${port}`;
  stack = await startStack({ mode: "test", stateDir, logDir: stateDir, siteUrl: url, quiet: true });
  await seedDemo(stack);
  const options: AppOptions = { port, url, env: stack.env, watchdog: stack.watchdog, logPath: join(stateDir, "app.log") };
  app = await startApp(options);
});
test.afterAll(async () => {
  await app.stop();
  await stack.stop();
  rmSync(stateDir, { recursive: true, force: true });
});

async function readiness(): Promise<{ status: number; down: string[] }> {
  const response = await fetch(`${url}/api/health/ready`);
  const { checks } = await response.json();
  return {
    status: response.status,
    down: checks.filter((check: { ok: boolean }) => !check.ok).map((check: { name: string }) => check.name),
  };
}

// Guarantee: an outage of one part is named, told in plain words with a way to try again, kills nothing, and heals by itself.
test("with Postgres stopped pages say so, and work again when it is back", async ({ visit }) => {
  test.slow();
  const page = await visit();
  await page.goto(`${url}/sign-in`);
  await fillSignIn(page, "owner@opsmantik.demo", "opsmantik-demo");
  await expect(page.getByRole("heading", { level: 1, name: "Sites" })).toBeVisible();
  expect(await readiness()).toEqual({ status: 200, down: [] });

  const [postgresPid = 0] = stack.pids;
  process.kill(postgresPid, "SIGINT");
  await expect.poll(async () => (await readiness()).down).toEqual(["postgres", "migrations"]);
  expect((await fetch(`${url}/api/health`)).status).toBe(200);
  await page.reload();
  const failure = page.getByRole("alert").filter({ hasText: "This page did not load" });
  await expect(failure).toBeVisible();
  await expect(failure).toContainText(/did not answer/);
  await expect(failure).toContainText(/req_[0-9a-z]+/);
  const stranger = await visit();
  await stranger.goto(`${url}/sign-in`);
  await fillSignIn(stranger, "owner@opsmantik.demo", "opsmantik-demo");
  await expect(stranger.getByText(/did not answer/)).toBeVisible();
  await stranger.goto(`${url}/status`);
  await expect(stranger.getByText("No answer").first()).toBeVisible();

  const { port, password } = new URL(stack.adminUrl);
  const again = await startPostgres({
    dataDir: join(stateDir, "postgres"),
    port: Number(port),
    password,
    watchdog: stack.watchdog,
    logPath: join(stateDir, "postgres-again.log"),
    ephemeral: true,
  });
  await expect.poll(readiness, { timeout: 30_000 }).toEqual({ status: 200, down: [] });
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Sites" })).toBeVisible();

  await stack.redis.stop();
  await expect.poll(readiness).toEqual({ status: 503, down: ["redis"] });
  await page.reload();
  await expect(page.getByRole("heading", { level: 1, name: "Sites" })).toBeVisible();
  await again.stop();
});
