import { defineConfig } from "vitest/config";

/** One project per kind of test; all but the unit tests have a Postgres and a Redis per worker. */
const withStack = (name: string, maxWorkers = 1) => ({
  extends: true as const,
  test: {
    name,
    include: name === "integration" ? ["tests/{integration,security}/**/*.test.ts"] : [`tests/${name}/**/*.test.ts`],
    globalSetup: ["tests/support/global-setup.ts"],
    maxWorkers,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});

export default defineConfig({
  test: {
    environment: "node",
    setupFiles: ["tests/support/quiet-logs.ts"],
    projects: [
      { extends: true, test: { name: "unit", include: ["tests/unit/**/*.test.ts"], testTimeout: 30_000 } },
      withStack("integration", 2),
      withStack("contract"),
      withStack("fault"),
    ],
  },
});
