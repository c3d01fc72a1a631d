import { handler } from "#lib/http/handler.ts";
import { recordTest, testAnswer } from "#lib/oci/handout/test-item.ts";
import { ackLimit, script, scriptRequests, wrongKeys } from "#lib/oci/script/guards.ts";
import { scriptRefusal } from "#lib/oci/script/refusal.ts";

/** POST /api/oci/test-answer says what a script's preview made of a test conversion. */
export const POST = handler({
  guard: script,
  limits: { before: scriptRequests, failures: wrongKeys, after: ackLimit },
  body: testAnswer,
  refuse: scriptRefusal,
  run: ({ actor, body }) => recordTest(actor.siteUuid, body),
});
