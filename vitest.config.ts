import { defineConfig } from "vitest/config";

/** One project per kind of test; all but the unit tests have a Postgres and a Redis per worker. */
const withStack = (name: string, maxWorkers = 1, ...more: string[]) => ({
  extends: true as const,
  test: {
    name,
    include: [`tests/${name}/**/*.test.ts`, ...more],
    setupFiles: ["scripts/serve/cut-user-agent.mjs"],
    globalSetup: ["tests/support/global-setup.ts"],
    maxWorkers,
    // For what hangs: where others used the machine as well, the slowest test took 25 s.
    testTimeout: 180_000,
    hookTimeout: 180_000,
  },
});

export default defineConfig({
  test: {
    environment: "node",
    setupFiles: ["tests/support/quiet-logs.ts"],
    projects: [
      { extends: true, test: { name: "unit", include: ["tests/unit/**/*.test.ts"], testTimeout: 30_000 } },
      withStack("integration", 2, "tests/security/**/*.test.ts"),
      withStack("contract"),
      withStack("fault"),
    ],
  },
});
