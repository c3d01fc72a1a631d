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
  // Only for what hangs: a busy machine takes three times as long as an idle one.
  timeout: 120_000,
  expect: { timeout: 10_000 },
  reporter: "list",
  use: {
    ...devices["Desktop Chrome"],
    // The setup puts the address here before the workers read this file.
    baseURL: process.env.OPSMANTIK_E2E_URL,
    // A trace of each step takes a third of the time; a failed test prints what its pages showed. `--trace on` for more.
    trace: "off",
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
