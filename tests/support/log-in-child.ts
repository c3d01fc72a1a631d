/** Logs and ends in the way its argument says, in a process of its own. */
import { log } from "#lib/platform/log.ts";

const end = process.argv[2];

for (let line = 1; line <= 50; line++) log.info("line", { line });
if (end === "kill") {
  log.error("line", { line: 51 });
  process.kill(process.pid, "SIGKILL");
}
if (end === "exit") process.exit(0);
if (end === "abort") process.on("uncaughtException", () => process.abort());
if (end === "throw" || end === "abort") throw new Error("nobody catches this");
