import { z } from "zod";
import { confirmLink } from "#lib/auth/confirm-link.ts";
import { handler } from "#lib/http/handler.ts";
import { anyone } from "#lib/http/machine-guards.ts";
import { clientAddress } from "#lib/http/rate-limit.ts";

/** GET /auth/confirm is where the links in our e-mails lead: it signs in and goes on to choosing a password. */
export const GET = handler({
  guard: anyone,
  limits: {
    before: {
      name: "confirm-link",
      requests: 20,
      windowSeconds: 60,
      key: ({ request }) => clientAddress(request.headers),
      whenRedisIsDown: "fail-open",
    },
  },
  query: z.object({ token_hash: z.string().max(200).catch(""), type: z.enum(["recovery", "email"]).catch("email") }),
  run: ({ query }) => confirmLink(query.token_hash, query.type),
});
