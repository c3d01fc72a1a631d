import { signedIn } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";
import { createSite } from "#lib/tenancy/changes.ts";
import { newSite } from "#lib/tenancy/site-fields.ts";

/** POST /api/sites makes a site that its creator owns. */
export const POST = handler({
  guard: signedIn,
  limits: {
    after: { name: "create-site", requests: 20, windowSeconds: 600, key: ({ actor }) => actor.user.id, whenRedisIsDown: "fail-open" },
  },
  body: newSite,
  run: ({ actor, body }) => createSite(actor.db, body),
});
