import type { Guard } from "./handler.ts";
import { type SiteMachine, siteApiKey } from "./machine-guards.ts";
import { type SignedIn, signedIn } from "./member-guards.ts";

export type KeyOrMember = ({ kind: "key" } & SiteMachine) | ({ kind: "member" } & SignedIn);

/** A machine with a key of its site, or a person with a session. Which site a person acts on, and whether they may, SQL finds by the entity. */
export const keyOrMember: Guard<KeyOrMember> = async (context) =>
  context.request.headers.has("x-api-key")
    ? { kind: "key", ...(await siteApiKey(context)) }
    : { kind: "member", ...(await signedIn(context)) };

/** Who shares one allowance of a rate limit. */
export const actorId = (actor: KeyOrMember) => (actor.kind === "key" ? actor.keyId : actor.user.id);
