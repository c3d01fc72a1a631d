/** Run as a process of its own by tests that kill a worker: stores captured events until none is left. */
import { drainEvents } from "#lib/ingest/drain.ts";

process.stdout.write(`${JSON.stringify(await drainEvents())}\n`);
process.exit(0);
