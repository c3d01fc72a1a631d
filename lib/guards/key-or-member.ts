import type { Guard, GuardContext } from "#lib/http/handler.ts";
import { AppError } from "#lib/platform/app-error.ts";
import type { KeyScope } from "#lib/tenancy/site-roles.ts";
import { type SiteMachine, siteApiKey } from "./machine.ts";
import { type SignedIn, signedIn } from "./member.ts";

export type KeyOrMember = ({ kind: "key" } & SiteMachine) | ({ kind: "member" } & SignedIn);

/** A machine with a key of its site, or a person with a session. Which site a person acts on, and whether they may, SQL finds by the entity. */
export const keyOrMember =
  (scopesFor: (context: GuardContext) => KeyScope[]): Guard<KeyOrMember> =>
  async (context) => {
    const { headers } = context.request;
    if (headers.has("x-api-key")) return { kind: "key", ...(await siteApiKey(scopesFor)(context)) };
    // A program without a key gets UNAUTHENTICATED, not CROSS_SITE_REQUEST.
    if (!headers.has("cookie")) throw new AppError("UNAUTHENTICATED", { detail: "Send a key of the site in x-api-key, or sign in." });
    return { kind: "member", ...(await signedIn(context)) };
  };

/** Who shares one allowance of a rate limit. */
export const actorId = (actor: KeyOrMember) => (actor.kind === "key" ? actor.keyId : actor.user.id);
