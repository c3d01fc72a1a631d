import { defineConfig, devices } from "@playwright/test";
import { findChromium } from "#scripts/local/ensure-system-packages.ts";
import { isRoot } from "#scripts/local/process/state-dir.ts";

const executablePath = findChromium();

export default defineConfig({
  testDir: "tests/e2e",
  testMatch: "**/*.{test,spec}.ts",
  globalSetup: "tests/support/e2e-setup.ts",
  outputDir: "test-results",
  workers: 2,
  // A test that passes at the second try hides a race that a user would meet at the first.
  retries: 0,
  timeout: 60_000,
  expect: { timeout: 10_000 },
  reporter: "list",
  use: {
    ...devices["Desktop Chrome"],
    // The setup puts the address here before the workers read this file.
    baseURL: process.env.OPSMANTIK_E2E_URL,
    // The page at each step, without a film: a film took a sixth to a third of the processor time. `--trace off` is faster still.
    trace: { mode: "retain-on-failure", screenshots: false, snapshots: true, sources: true },
    screenshot: "only-on-failure",
    launchOptions: {
      ...(executablePath && { executablePath }),
      args: [
        // Chromium's sandbox does not work for root.
        ...(isRoot() ? ["--no-sandbox"] : []),
        // The app is the only thing it may talk to.
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--no-first-run",
        "--disable-quic",
      ],
    },
  },
});
