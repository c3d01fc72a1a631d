import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { startApp } from "#scripts/local/app/app-server.ts";
import { seedDemo } from "#scripts/local/demo/seed-demo.ts";
import { startPostgres } from "#scripts/local/postgres/postgres.ts";
import { freePort } from "#scripts/local/process/free-port.ts";
import type { ServiceProcess } from "#scripts/local/process/service-process.ts";
import { temporaryStateDir } from "#scripts/local/process/state-dir.ts";
import { startWatchdog } from "#scripts/local/process/watchdog.ts";
import { expect, fillSignIn, test } from "#tests/support/e2e-test.ts";
import { type StackInChild, startInChild } from "#tests/support/start-in-child.ts";

/** A stack and an app of its own, in other processes, since this test takes them down. */
const stateDir = temporaryStateDir();
const watchdog = startWatchdog();
let stack: StackInChild;
let app: ServiceProcess;
let url: string;

test.beforeAll(async () => {
  test.setTimeout(300_000); // a whole stack starts and is filled
  const port = await freePort();
  url = `http://localhost:${port}`;
  stack = await startInChild(stateDir, url);
  await seedDemo({ adminUrl: stack.adminUrl, stateDir, env: stack.env });
  app = await startApp({ port, url, env: stack.env, watchdog, logPath: join(stateDir, "app.log") });
});
test.afterAll(async () => {
  await app.stop();
  stack.child.kill("SIGTERM");
  await once(stack.child, "exit");
  watchdog.end();
  rmSync(stateDir, { recursive: true, force: true });
});

/** A service that does not answer at all is given up after ten seconds; a busy machine adds its own. */
const patience = { timeout: 40_000 };

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

  const [postgresPid = 0, redisPid] = stack.pids;
  process.kill(postgresPid, "SIGINT");
  await expect.poll(async () => (await readiness()).down, patience).toEqual(expect.arrayContaining(["postgres", "migrations"]));
  expect((await fetch(`${url}/api/health`)).status).toBe(200);
  await page.reload();
  const failure = page.getByRole("alert").filter({ hasText: "This page did not load" });
  await expect(failure).toBeVisible(patience);
  await expect(failure).toContainText(/did not answer/);
  await expect(failure).toContainText(/req_[0-9a-z]+/);
  const stranger = await visit();
  await stranger.goto(`${url}/sign-in`);
  await fillSignIn(stranger, "owner@opsmantik.demo", "opsmantik-demo");
  await expect(stranger.getByText(/did not answer/)).toBeVisible(patience);
  await stranger.goto(`${url}/status`);
  await expect(stranger.getByText("No answer").first()).toBeVisible();

  const { port, password } = new URL(stack.adminUrl);
  const again = await startPostgres({
    dataDir: join(stateDir, "postgres"),
    port: Number(port),
    password,
    watchdog,
    logPath: join(stateDir, "postgres-again.log"),
    ephemeral: true,
  });
  await expect.poll(readiness, patience).toEqual({ status: 200, down: [] });
  await expect(async () => {
    const again = page.getByRole("button", { name: "Try again" });
    if (await again.isVisible()) await again.click();
    await expect(page.getByRole("heading", { level: 1, name: "Sites" })).toBeVisible({ timeout: 5_000 });
  }).toPass(patience);

  if (redisPid === undefined) return await again.stop(); // the in-process fallback is no server that could be stopped
  process.kill(redisPid, "SIGTERM");
  await expect.poll(readiness, patience).toEqual({ status: 503, down: ["redis"] });
  await page.reload();
  await expect(page.getByRole("heading", { level: 1, name: "Sites" })).toBeVisible();
  await again.stop();
});
