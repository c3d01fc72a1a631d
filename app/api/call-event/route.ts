import { handler } from "#lib/http/handler.ts";
import { callEventBody, callEventLimit, reportCall, signedCallEvent } from "#lib/ingest/call-event.ts";

/** POST /api/call-event takes a call that a telephone system, a CRM or a proxy reports, signed with the site's secret. */
export const POST = handler({
  guard: signedCallEvent,
  limits: { after: callEventLimit },
  body: callEventBody,
  run: ({ actor, body }) => reportCall(actor, body),
});
