import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { replaceCallSecret } from "#lib/ingest/call-secret.ts";

/** POST /api/sites/:siteId/call-event-secret makes the secret that signs call events and shows it, this one time. */
export const POST = handler({
  guard: siteMember("owner"),
  run: ({ actor }) => replaceCallSecret(actor.db, actor.siteId),
});
