import { handler } from "#lib/http/handler.ts";
import { readBatch } from "#lib/ingest/read-batch.ts";
import { syncEvents, syncLimits } from "#lib/ingest/sync-gate.ts";
import { preflight, trackerHeaders, trackerPage, trackerRequests } from "#lib/ingest/tracker-guard.ts";

const page = trackerPage(readBatch);

/** POST /api/sync takes a tracker's events. Frozen order: auth, rate limit, validation, idempotency, quota, publish. */
export const POST = handler({
  headers: trackerHeaders,
  guard: page,
  limits: { before: trackerRequests, after: syncLimits },
  bodyMaxBytes: 256 * 1024,
  run: ({ actor, request }) => syncEvents(actor, request),
});

export const OPTIONS = preflight;
