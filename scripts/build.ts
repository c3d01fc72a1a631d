/** Builds the app as the demo and the e2e tests use it; does nothing when the sources have not changed. */
import { buildApp } from "./local/app/build-app.ts";
import { step } from "./local/process/progress.ts";
import { startWatchdog } from "./local/process/watchdog.ts";

const watchdog = startWatchdog();
try {
  await step(
    "Build",
    () => buildApp(watchdog),
    (outcome) => outcome,
  );
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  watchdog.end();
}
