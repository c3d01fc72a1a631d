import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { readLead } from "#lib/leads/desk-readers.ts";
import { contactRequest, setLeadContact } from "#lib/leads/lead-contact.ts";

/** GET /api/sites/:siteId/calls/:callId is one lead with its journey, ledger and history. */
export const GET = handler({
  guard: siteMember("viewer"),
  params: z.object({ callId: z.uuid() }),
  run: ({ actor, params }) => readLead(actor.db, actor.siteId, params.callId),
});

/** PATCH /api/sites/:siteId/calls/:callId says who the lead is: a name, a number. */
export const PATCH = handler({
  guard: siteMember("operator"),
  params: z.object({ callId: z.uuid() }),
  body: contactRequest,
  run: ({ actor, params, body }) => setLeadContact(actor.db, { siteId: actor.siteId, callId: params.callId, body }),
});
