/** Run as a process of its own by tests that kill it: a simulator with its journal in the given folder. Prints its address. */
import { startGoogle } from "#scripts/local/google/google.ts";

const [, , stateDir, port = "0"] = process.argv;
if (!stateDir) throw new Error("Give the state directory.");
const google = await startGoogle({ stateDir, port: Number(port) });
process.stdout.write(`${google.url}\n`);
