/** Run as a process of its own by the stack tests: starts a stack, prints what it started, then waits to be ended. */
import { join } from "node:path";
import { startStack } from "#scripts/local/stack.ts";

const stateDir = process.argv[2];
if (!stateDir) throw new Error("Give the state directory.");
const stack = await startStack({ mode: "test", stateDir, logDir: join(stateDir, "logs"), siteUrl: "http://localhost:1", quiet: true });
process.once("SIGTERM", async () => {
  await stack.stop();
  process.exit(0);
});
process.stdout.write(`${JSON.stringify({ pids: stack.pids })}\n`);
