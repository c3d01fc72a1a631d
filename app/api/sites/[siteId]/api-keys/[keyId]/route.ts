import { z } from "zod";
import { handler } from "#lib/http/handler.ts";
import { siteMember } from "#lib/http/member-guards.ts";
import { revokeApiKey } from "#lib/tenancy/changes.ts";

/** DELETE /api/sites/:siteId/api-keys/:keyId ends a key at once; its row stays for recognition. */
export const DELETE = handler({
  guard: siteMember("owner"),
  params: z.object({ keyId: z.uuid() }),
  run: ({ actor, params }) => revokeApiKey(actor.db, actor.publicId, params.keyId),
});
