import { callbackQuery, finishConsent } from "#lib/delivery/google-consent.ts";
import { signedIn } from "#lib/guards/member.ts";
import { handler } from "#lib/http/handler.ts";

/** GET /api/google-ads/oauth/callback takes an owner back from Google's consent page. The site is in the state. */
export const GET = handler({ guard: signedIn, query: callbackQuery, run: ({ actor, query }) => finishConsent(actor.user.id, query) });
