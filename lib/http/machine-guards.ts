import { createHash, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { env } from "#lib/env.ts";
import { openScriptSession } from "#lib/oci/script-session.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { isSignedByQstash } from "#lib/platform/qstash.ts";
import { claimedSiteId } from "./claimed-site-id.ts";
import type { Guard } from "./handler.ts";

/** A machine that speaks for one site. siteId is the internal id: it goes to the database and nowhere else. */
export interface SiteMachine {
  siteId: string;
  publicId: string;
  keyId: string;
  ociSyncMethod: "script" | "api";
}

export const siteMachine = z
  .object({ siteId: z.uuid(), publicId: z.string(), keyId: z.uuid(), ociSyncMethod: z.enum(["script", "api"]) })
  .nullable();

const sha256 = (text: string) => createHash("sha256").update(text).digest();

function bearer(request: Request): string {
  return request.headers.get("authorization")?.match(/^Bearer (\S+)$/)?.[1] ?? "";
}

/** Anyone. A route that says so has decided so. */
export const anyone: Guard<null> = () => null;

/** A key in x-api-key. Unknown, revoked and archived answer the same. */
export const siteApiKey: Guard<SiteMachine> = async (context) => {
  const key = context.request.headers.get("x-api-key") ?? "";
  const machine = key === "" ? null : await callRpc("authenticate_api_key", { p_key_hash: sha256(key).toString("hex") }, siteMachine);
  if (!machine) throw new AppError("INVALID_API_KEY", { detail: "Send a live API key of the site in the x-api-key header." });
  refuseOtherSite(context, machine);
  return machine;
};

/** The five-minute token that the Google Ads Script got for its key. It dies with the key. */
export const scriptSession: Guard<SiteMachine> = async (context) => {
  const session = await openScriptSession(bearer(context.request), env().OCI_SESSION_SECRET);
  const machine = session && (await callRpc("api_key_site", { p_key_id: session.keyId }, siteMachine));
  if (!machine)
    throw new AppError("INVALID_SESSION_TOKEN", { detail: "The session token is missing, expired or its key was revoked. Verify again." });
  refuseOtherSite(context, machine);
  return machine;
};

/** A request may name its site, but only the credential decides it. */
function refuseOtherSite(context: Parameters<Guard<unknown>>[0], machine: SiteMachine): void {
  const claimed = claimedSiteId(context);
  if (claimed !== undefined && claimed !== machine.publicId) {
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
