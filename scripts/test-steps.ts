import { existsSync, globSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { checkoutDir, localDir } from "./local/process/state-dir.ts";

export interface TestStep {
  name: string;
  commands: string[][];
  env?: Record<string, string | undefined>;
  /** Counted from the report that the command leaves behind. Each test of tests/security makes one attack. */
  countTests?: () => { passed: number; failed: number; attacks?: { tried: number; refused: number } } | undefined;
  /** The step that this one runs at the same time with, since neither uses all of the machine. */
  beside?: string;
  /** Steps without which this one makes no sense. */
  needs?: string[];
}

const vitestReport = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  testResults: z.array(z.object({ name: z.string(), assertionResults: z.array(z.object({ status: z.string() })) })),
});
const playwrightReport = z.object({ stats: z.object({ expected: z.number(), unexpected: z.number(), flaky: z.number() }) });

// Biome's ci command colours its output even in a file.
const plainFlags = process.stdout.isTTY ? [] : ["--colors=off"];

/** Everything that must hold, cheapest first. Steps whose folder has no tests yet are left out. */
export function testSteps(): TestStep[] {
  return [
    { name: "lock", commands: [["node", "scripts/complete-lock.ts", "--check"]] },
    // A fresh clone has neither next-env.d.ts nor the types of its routes.
    {
      name: "types",
      commands: [
        ["next", "typegen"],
        ["tsc", "--noEmit", "--incremental", "false"],
      ],
    },
    { name: "lint", commands: [["biome", "ci", ".", ...plainFlags]] },
    // Then once more without the tests: a file that only they use belongs to them.
    { name: "dead code", beside: "types", commands: [["knip"], ["knip", "--production", "--include", "files"]] },
    ...["unit", "integration", "contract"].filter((project) => hasTests(project)).map((project) => vitestStep(project)),
    { name: "build", beside: "contract", commands: [["node", "scripts/build.ts"]] },
    // Both start the app that was built.
    ...(hasTests("fault") ? [vitestStep("fault", ["build"])] : []),
    ...(hasTests("e2e") ? [e2eStep()] : []),
  ];
}

function hasTests(folder: string): boolean {
  return globSync(`tests/${folder}/**/*.{test,spec}.ts`, { cwd: checkoutDir }).length > 0;
}

function vitestStep(project: string, needs: string[] = []): TestStep {
  const report = reportPath(project);
  return {
    name: project,
    needs,
    commands: [["vitest", "run", "--project", project, "--reporter=default", "--reporter=json", `--outputFile.json=${report}`]],
    countTests: () => {
      const counts = readReport(report, vitestReport);
      if (!counts) return undefined;
      const attacks = counts.testResults
        .filter(({ name }) => name.includes("/tests/security/"))
        .flatMap(({ assertionResults }) => assertionResults.map(({ status }) => status));
      const refused = attacks.filter((status) => status === "passed").length;
      return {
        passed: counts.numPassedTests,
        failed: counts.numFailedTests,
        ...(attacks.length > 0 && { attacks: { tried: attacks.length, refused } }),
      };
    },
  };
}

function e2eStep(): TestStep {
  const report = reportPath("e2e");
  return {
    name: "e2e",
    needs: ["build"],
    commands: [["playwright", "test", "--reporter=list,json"]],
    // Playwright sets colours itself, and Node warns in every worker when both are set.
    env: { PLAYWRIGHT_JSON_OUTPUT_FILE: report, NO_COLOR: undefined },
    countTests: () => {
      const stats = readReport(report, playwrightReport)?.stats;
      return stats && { passed: stats.expected + stats.flaky, failed: stats.unexpected };
    },
  };
}

function reportPath(name: string): string {
  const folder = join(localDir(), "test-reports");
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${name}.json`);
  // The report of an earlier run must not be taken for this one's.
  rmSync(path, { force: true });
  return path;
}

function readReport<T>(path: string, shape: z.ZodType<T>): T | undefined {
  return existsSync(path) ? shape.safeParse(JSON.parse(readFileSync(path, "utf8"))).data : undefined;
}
