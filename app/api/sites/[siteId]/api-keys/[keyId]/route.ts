import { z } from "zod";
import { siteMember } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { narrowApiKey, revokeApiKey } from "#lib/tenancy/changes.ts";
import { apiKeyScopes } from "#lib/tenancy/site-fields.ts";

const params = z.object({ keyId: z.uuid() });

/** DELETE /api/sites/:siteId/api-keys/:keyId ends a key at once; its row stays for recognition. */
export const DELETE = handler({
  guard: siteMember("owner"),
  params,
  run: ({ actor, params }) => revokeApiKey(actor.db, actor.siteId, params.keyId),
});

/** PATCH /api/sites/:siteId/api-keys/:keyId takes scopes away from a key; it never gains one. */
export const PATCH = handler({
  guard: siteMember("owner"),
  params,
  body: apiKeyScopes,
  run: ({ actor, params: { keyId }, body }) => narrowApiKey(actor.db, actor.siteId, { keyId, scopes: body.scopes }),
});
