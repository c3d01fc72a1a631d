import { StopList } from "./stop-list.ts";

/**
 * Runs a long-lived command, which resolves when one of its parts dies. On that, Ctrl-C, SIGTERM or SIGHUP
 * everything is stopped in order. What was still being started when the signal came is ended by the watchdog.
 */
export async function runUntilStopped(run: (stopList: StopList) => Promise<Error>): Promise<void> {
  const stopList = new StopList();
  const signalled = nextSignal();
  try {
    const died = run(stopList).then((error) => Promise.reject(error));
    await Promise.race([signalled, died]);
    console.log("\nStopping…");
  } catch (error) {
    console.error(`\n${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
  await stopList.stopAll();
  process.exit();
}

/** A second signal does not wait for the orderly stop; the watchdog still ends the children. */
function nextSignal(): Promise<void> {
  return new Promise((resolve) => {
    let signals = 0;
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
      process.on(signal, () => {
        signals++;
        if (signals > 1) process.exit(1);
        resolve();
      });
    }
  });
}
