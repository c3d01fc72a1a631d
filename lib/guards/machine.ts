import { createHash, timingSafeEqual } from "node:crypto";
import { Receiver } from "@upstash/qstash";
import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { env } from "#lib/env.ts";
import type { Guard, GuardContext } from "#lib/http/handler.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { type SiteId, type SiteUuid, type SyncMethod, siteUuidShape, storedSiteId, syncMethods } from "#lib/site.ts";
import { type KeyScope, keyScopes } from "#lib/tenancy/site-roles.ts";
import { claimedSiteId } from "./claimed-site-id.ts";

/** A machine that speaks for one site. siteUuid is the internal id: it goes to the database and nowhere else. */
export interface SiteMachine {
  siteUuid: SiteUuid;
  siteId: SiteId;
  keyId: string;
  scopes: KeyScope[];
  ociSyncMethod: SyncMethod;
}

export const siteMachine = z
  .object({
    siteUuid: siteUuidShape,
    siteId: storedSiteId,
    keyId: z.uuid(),
    scopes: z.array(z.enum(keyScopes)),
    ociSyncMethod: z.enum(syncMethods),
  })
  .nullable();

const sha256 = (text: string) => createHash("sha256").update(text).digest();

export function bearer(request: Request): string {
  return request.headers.get("authorization")?.match(/^Bearer (\S+)$/)?.[1] ?? "";
}

/** No check at all, chosen on purpose by the route. */
export const anyone: Guard<null> = () => null;

/** The site that a key speaks for, or null. Any of `scopes` is enough, the narrowest first; the one that the key has is noted as used. */
export const authenticateKey = (key: string, scopes: KeyScope[]): Promise<SiteMachine | null> =>
  callRpc("authenticate_api_key", { p_key_hash: sha256(key).toString("hex"), p_scopes: scopes }, siteMachine);

/** A key can do only what its owner chose: many people can read the key in a script, so it seals no leads. */
export function requireScope(machine: SiteMachine, needs: KeyScope[]): void {
  if (needs.some((scope) => machine.scopes.includes(scope))) return;
  throw new AppError("INSUFFICIENT_SCOPE", {
    detail: `This API key has the scope ${machine.scopes.join(" and ")}. This needs ${needs.join(" or ")}.`,
    extra: { needs, scopes: machine.scopes },
  });
}

/** A key in x-api-key that has one of the scopes. Unknown, revoked and archived answer the same. */
export const siteApiKey =
  (scopesFor: (context: GuardContext) => KeyScope[]): Guard<SiteMachine> =>
  async (context) => {
    const key = context.request.headers.get("x-api-key") ?? "";
    const needs = scopesFor(context);
    const machine = key === "" ? null : await authenticateKey(key, needs);
    if (!machine) throw new AppError("INVALID_API_KEY", { detail: "Send a live API key of the site in the x-api-key header." });
    refuseOtherSite(context, machine);
    requireScope(machine, needs);
    return machine;
  };

/** A request may name its site, but only the credential decides it. */
export function refuseOtherSite(context: GuardContext, machine: SiteMachine): void {
  const claimed = claimedSiteId(context);
  if (claimed !== undefined && claimed !== machine.siteId) {
    throw new AppError("FORBIDDEN", { detail: "This credential belongs to another site." });
  }
}

/** Vercel's cron, by its secret. The x-vercel-cron header proves nothing: anyone can send it. */
export const cron: Guard<null> = ({ request }) => {
  if (!timingSafeEqual(sha256(bearer(request)), sha256(env().CRON_SECRET))) {
    throw new AppError("INVALID_CRON_SECRET", { detail: "Cron routes need Authorization: Bearer CRON_SECRET." });
  }
  return null;
};

/** A delivery by our QStash, signed over this body and for this route. */
export const qstash: Guard<null> = async ({ request, rawBody }) => {
  const { pathname, search } = new URL(request.url);
  const signature = request.headers.get("upstash-signature") ?? "";
  if (!(await isSignedByQstash(signature, rawBody, pathname + search))) {
    throw new AppError("INVALID_SIGNATURE", { detail: "Only signed QStash deliveries are accepted here." });
  }
  return null;
};

/**
 * Whether a delivery really comes from our QStash: signed with the current or the next key, over this exact body,
 * and for this route. Without the url a message signed for one route would pass at another.
 */
async function isSignedByQstash(signature: string, body: string, path: string): Promise<boolean> {
  const receiver = new Receiver({
    currentSigningKey: env().QSTASH_CURRENT_SIGNING_KEY,
    nextSigningKey: env().QSTASH_NEXT_SIGNING_KEY,
  });
  try {
    return await receiver.verify({ signature, body, url: new URL(path, env().APP_URL).href });
  } catch {
    return false;
  }
}
