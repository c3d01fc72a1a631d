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
const held: string[] = [];
let attacks: { tried: number; refused: number } | undefined;
for (const step of steps.filter(({ beside }) => !steps.some(({ name }) => name === beside))) {
  const others = steps.filter(({ beside }) => beside === step.name).map((other) => runStep(other, "held back"));
  results.push(await runStep(step));
  results.push(...(await Promise.all(others)));
  for (const output of held.splice(0)) console.log(output);
}
watchdog.end();
summarize(results);

/** Of a step that runs beside another, what it prints is held back until it has ended, so that the two do not mix. */
async function runStep(step: TestStep, output: "shown" | "held back" = "shown"): Promise<StepResult> {
  const { name, commands, env = {}, countTests, needs = [] } = step;
  const isBroken = results.some((earlier) => needs.includes(earlier.name) && earlier.result !== "passed");
  if (isBroken) return { name, result: "not run", seconds: 0, tests: "" };
  if (output === "shown") console.log(`\n━━ ${name}`);
  const startedAt = performance.now();
  const capture = output === "held back";
  let succeeded = true;
  let printed = "";
  for (const command of commands) {
    if (!succeeded) break;
    const done = await runCommand(command, { watchdog, capture, env: { ...env, ...(chromium && { OPSMANTIK_CHROMIUM: chromium }) } });
    succeeded = done.succeeded;
    printed += done.output;
  }
  if (capture) held.push(`\n━━ ${name}\n${printed}`);
  const seconds = (performance.now() - startedAt) / 1000;
  const counts = countTests?.();
  if (counts?.attacks) attacks = counts.attacks;
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
  if (attacks) console.log(`  Attacks: ${attacks.tried} tried, ${attacks.refused} refused (tests/security)`);
  console.log(`  Browser: ${chromium ?? "Playwright's own"}\n`);
  const passed = rows.filter((row) => row.result === "passed").length;
  console.log(`${passed} passed, ${rows.length - passed} failed`);
  process.exitCode = passed === rows.length ? 0 : 1;
}
