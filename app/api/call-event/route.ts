import { handler } from "#lib/http/handler.ts";
import { callEventBody, callEventLimit, callEventRequests, reportCall, signedCallEvent, wrongSignatures } from "#lib/ingest/call-event.ts";

/** POST /api/call-event takes a call that a telephone system, a CRM or a proxy reports, signed with the site's secret. */
export const POST = handler({
  guard: signedCallEvent,
  limits: { before: callEventRequests, failures: wrongSignatures, after: callEventLimit },
  body: callEventBody,
  run: ({ actor, body }) => reportCall(actor, body),
});
