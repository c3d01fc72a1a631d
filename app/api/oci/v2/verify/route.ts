import { handler } from "#lib/http/handler.ts";
import { scriptKey, scriptRequests, verifyLimit, wrongKeys } from "#lib/oci/script/guards.ts";
import { scriptRefusal } from "#lib/oci/script/refusal.ts";
import { openSession } from "#lib/oci/script/session.ts";

/** POST /api/oci/v2/verify gives a Google Ads Script a session of five minutes for its site's key. */
export const POST = handler({
  guard: scriptKey,
  limits: { before: scriptRequests, failures: wrongKeys, after: verifyLimit },
  refuse: scriptRefusal,
  bodyMaxBytes: 4 * 1024,
  run: ({ actor, request }) => openSession(actor, request),
});
