import { AsyncLocalStorage } from "node:async_hooks";
import { appendFileSync } from "node:fs";
import { inspect } from "node:util";

const logPathInUse = new AsyncLocalStorage<string>();
let redirected = false;

/** Runs `work` with what it prints going to a file: the gateway reports every refused query on the console. */
export function printingTo<T>(logPath: string, work: () => T): T {
  redirectConsole();
  return logPathInUse.run(logPath, work);
}

function redirectConsole(): void {
  if (redirected) return;
  redirected = true;
  for (const method of ["log", "info", "warn", "error", "debug"] as const) {
    const original = console[method].bind(console);
    console[method] = (...parts: unknown[]) => {
      const logPath = logPathInUse.getStore();
      if (!logPath) return original(...parts);
      const text = parts.map((part) => (typeof part === "string" ? part : inspect(part))).join(" ");
      appendFileSync(logPath, `${new Date().toISOString()} ${text}\n`, { mode: 0o600 });
    };
  }
}
