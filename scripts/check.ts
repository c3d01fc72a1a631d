/** `npm run check`: types, lint and unit tests at once, for the minute before a commit. `scripts/test` runs everything. */
import { startWatchdog } from "./local/process/watchdog.ts";
import { runCommand, stopCommandsOnSignal } from "./run-command.ts";

stopCommandsOnSignal();
const watchdog = startWatchdog();

async function check(name: string, command: string[]): Promise<boolean> {
  const startedAt = performance.now();
  const { succeeded, output } = await runCommand(command, { watchdog, capture: true });
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${succeeded ? "✓" : "✗"} ${name} (${seconds} s)`);
  if (!succeeded) console.log(output);
  return succeeded;
}

// What Next demands of routes and pages is in generated types, which change with them.
await check("route types", ["next", "typegen"]);
const outcomes = await Promise.all([
  check("types", ["tsc", "--noEmit", "--incremental", "false"]),
  check("lint", ["biome", "ci", ".", "--colors=off"]),
  check("unit tests", ["vitest", "run", "--project", "unit"]),
]);
watchdog.end();
process.exitCode = outcomes.every(Boolean) ? 0 : 1;
