import { handler } from "#lib/http/handler.ts";
import { ackBodyMaxBytes, ackFailedBody, reportFailed } from "#lib/oci/handout/ack.ts";
import { ackFailedLimit, script, scriptRequests, wrongKeys } from "#lib/oci/script/guards.ts";
import { scriptRefusal } from "#lib/oci/script/refusal.ts";
import { recorded } from "#lib/oci/script/runs.ts";

/** POST /api/oci/ack-failed says that the script could not hand these conversions to Google, and why. */
export const POST = handler({
  guard: script,
  limits: { before: scriptRequests, failures: wrongKeys, after: ackFailedLimit },
  body: ackFailedBody,
  bodyMaxBytes: ackBodyMaxBytes,
  refuse: scriptRefusal,
  run: ({ actor, body, request }) =>
    recorded({ siteId: actor.siteId, kind: "ack-failed", request }, async () => {
      const answer = await reportFailed(actor, body);
      return { answer, counts: { given: body.queueIds.length, updated: answer.updated } };
    }),
});
