/** Run as a process of its own by tests that take parts down: starts a stack, prints what it started, then waits to be ended. */
import { join } from "node:path";
import { surviveLostConnections } from "#scripts/local/gateway/survive-lost-connections.ts";
import { startStack } from "#scripts/local/stack.ts";

const [, , stateDir, siteUrl = "http://localhost:1"] = process.argv;
if (!stateDir) throw new Error("Give the state directory.");
const stack = await startStack({ mode: "test", stateDir, logDir: join(stateDir, "logs"), siteUrl, quiet: true });
surviveLostConnections();
process.once("SIGTERM", async () => {
  await stack.stop();
  process.exit(0);
});
process.stdout.write(`${JSON.stringify({ pids: stack.pids, adminUrl: stack.adminUrl, env: stack.env })}\n`);
