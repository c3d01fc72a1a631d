import { handler } from "#lib/http/handler.ts";
import { pageViewLimits, readPageView, trackPageView } from "#lib/ingest/page-view.ts";
import { preflight, trackerHeaders, trackerPage, trackerRequests } from "#lib/ingest/tracker-guard.ts";

const page = trackerPage(readPageView);

/** POST /api/track/pv keeps a page view that came through an ad, for the script's export. */
export const POST = handler({
  headers: trackerHeaders,
  guard: page,
  limits: { before: trackerRequests, after: pageViewLimits },
  bodyMaxBytes: 8 * 1024,
  run: ({ actor, request }) => trackPageView(actor, request.headers),
});

export const OPTIONS = preflight;
