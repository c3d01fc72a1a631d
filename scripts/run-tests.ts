/** `scripts/test`: every check and test, with a summary at the end. Name steps to run only those. */
import { ensureSystemPackages } from "./local/ensure-system-packages.ts";
import { startWatchdog } from "./local/process/watchdog.ts";
import { engineName } from "./local/redis/redis.ts";
import { runCommand, stopCommandsOnSignal } from "./run-command.ts";
import { type TestStep, testSteps } from "./test-steps.ts";

interface StepResult {
  name: string;
  result: "passed" | "failed" | "not run";
  seconds: number;
  tests: string;
}

const chosen = process.argv.slice(2);
const steps = testSteps().filter((step) => chosen.length === 0 || chosen.includes(step.name));
if (steps.length === 0) {
  console.error(
    `No such step. There are: ${testSteps()
      .map((step) => step.name)
      .join(", ")}`,
  );
  process.exit(2);
}

stopCommandsOnSignal();
const { redisServer, chromium } = ensureSystemPackages();
const watchdog = startWatchdog();
const results: StepResult[] = [];
for (const step of steps) results.push(await runStep(step));
watchdog.end();
summarize(results);

async function runStep(step: TestStep): Promise<StepResult> {
  const { name, commands, env = {}, countTests, needs = [] } = step;
  const isBroken = results.some((earlier) => needs.includes(earlier.name) && earlier.result !== "passed");
  if (isBroken) return { name, result: "not run", seconds: 0, tests: "" };
  console.log(`\n━━ ${name}`);
  const startedAt = performance.now();
  let succeeded = true;
  for (const command of commands) {
    succeeded &&= (await runCommand(command, { watchdog, env: { ...env, ...(chromium && { OPSMANTIK_CHROMIUM: chromium }) } })).succeeded;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const counts = countTests?.();
  return {
    name,
    result: succeeded ? "passed" : "failed",
    seconds,
    tests: counts ? `${counts.passed} passed, ${counts.failed} failed` : "",
  };
}

function summarize(rows: StepResult[]): void {
  const line = (name: string, result: string, seconds: string, tests: string) =>
    `  ${name.padEnd(14)}${result.padEnd(10)}${seconds.padStart(8)}   ${tests}`.trimEnd();
  console.log(`\n${line("step", "result", "seconds", "tests")}`);
  for (const { name, result, seconds, tests } of rows) console.log(line(name, result, seconds.toFixed(1), tests));
  console.log(`\n  Redis: ${engineName(redisServer)}`);
  console.log(`  Browser: ${chromium ?? "Playwright's own"}\n`);
  const passed = rows.filter((row) => row.result === "passed").length;
  console.log(`${passed} passed, ${rows.length - passed} failed`);
  process.exitCode = passed === rows.length ? 0 : 1;
}
