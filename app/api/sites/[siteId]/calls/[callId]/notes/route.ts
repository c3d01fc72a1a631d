import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { addLeadNote, noteRequest } from "#lib/leads/lead-contact.ts";

/** POST /api/sites/:siteId/calls/:callId/notes writes a note into a lead's history. */
export const POST = handler({
  guard: siteMember("operator"),
  params: z.object({ callId: z.uuid() }),
  body: noteRequest,
  run: ({ actor, params, body }) => addLeadNote(actor.db, { siteId: actor.siteId, callId: params.callId, body }),
});
