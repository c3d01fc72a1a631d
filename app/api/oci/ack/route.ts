import { handler } from "#lib/http/handler.ts";
import { ackBody, ackBodyMaxBytes, acknowledge } from "#lib/oci/handout/ack.ts";
import { ackLimit, script, scriptRequests, wrongKeys } from "#lib/oci/script/guards.ts";
import { scriptRefusal } from "#lib/oci/script/refusal.ts";
import { recorded } from "#lib/oci/script/runs.ts";

/** POST /api/oci/ack says that the script handed these conversions to Google. */
export const POST = handler({
  guard: script,
  limits: { before: scriptRequests, failures: wrongKeys, after: ackLimit },
  body: ackBody,
  bodyMaxBytes: ackBodyMaxBytes,
  refuse: scriptRefusal,
  run: ({ actor, body, request }) =>
    recorded({ siteId: actor.siteId, kind: "ack", request }, async () => {
      const answer = await acknowledge(actor, body.queueIds);
      return { answer, counts: { given: body.queueIds.length, updated: answer.updated } };
    }),
});
