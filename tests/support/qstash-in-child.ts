/** Run as a process of its own by tests that take QStash down: serves on the given port until it is ended. */
import { startQstash } from "#scripts/local/qstash/qstash.ts";

const [, , port, token = "", currentSigningKey = "", nextSigningKey = ""] = process.argv;
await startQstash({ port: Number(port), token, currentSigningKey, nextSigningKey });
process.stdout.write("ready\n");
