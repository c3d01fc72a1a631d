import { defineConfig } from "vitest/config";

/** One project per kind of test; all but the unit tests share a Postgres and a Redis for the run. */
const withStack = (name: string) => ({
  extends: true as const,
  test: {
    name,
    include: [`tests/${name}/**/*.test.ts`],
    globalSetup: ["tests/support/global-setup.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});

export default defineConfig({
  test: {
    environment: "node",
    setupFiles: ["tests/support/quiet-logs.ts"],
    projects: [
      { extends: true, test: { name: "unit", include: ["tests/unit/**/*.test.ts"] } },
      withStack("integration"),
      withStack("contract"),
      withStack("fault"),
    ],
  },
});
