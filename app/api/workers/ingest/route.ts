import { qstash } from "#lib/guards/machine.ts";
import { handler } from "#lib/http/handler.ts";
import { drainEvents } from "#lib/ingest/drain.ts";

export const maxDuration = 60;

/** POST /api/workers/ingest, woken by QStash, stores captured events until none is left. */
export const POST = handler({ guard: qstash, run: drainEvents });
