import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { env } from "#lib/env.ts";
import { claimedSiteId } from "#lib/guards/claimed-site-id.ts";
import { authenticateKey, bearer, refuseOtherSite, requireScope, type SiteMachine, siteMachine } from "#lib/guards/machine.ts";
import { type SiteMember, siteMember } from "#lib/guards/member.ts";
import { hashedAddress } from "#lib/http/caller-address.ts";
import type { Guard, GuardContext } from "#lib/http/handler.ts";
import { addressLimit, enforceLimit, type RateLimit } from "#lib/http/rate-limit.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { siteIdShape } from "#lib/site.ts";
import { recordScriptRun } from "./runs.ts";
import { openScriptSession } from "./session.ts";
import { noteWrongKey } from "./wrong-keys.ts";

const perMinute = (name: string, requests: number) => ({ name, requests, windowSeconds: 60, whenRedisIsDown: "fail-closed" as const });

/** Before the guard, by site and address: somebody who knows a public id must not be able to lock the script out. */
const verifyAddressLimit: RateLimit<string> = {
  ...perMinute("oci-verify-address", 10),
  key: ({ request, actor }) => `${actor}:${hashedAddress(request.headers)}`,
};
/** Many customers' scripts share Google's addresses, so only what is refused counts much against one. */
export const scriptRequests = addressLimit("oci-address", 3000);
export const wrongKeys = [addressLimit("oci-wrong-keys", 120)];
const bySite = { key: ({ actor }: { actor: SiteMachine }) => actor.siteId };
export const verifyLimit: RateLimit<SiteMachine> = { ...perMinute("oci-verify", 10), ...bySite };
const exportLimit: RateLimit<SiteMachine> = { ...perMinute("oci-export", 10), ...bySite };
export const ackLimit: RateLimit<SiteMachine> = { ...perMinute("oci-ack", 30), ...bySite };
export const ackFailedLimit: RateLimit<SiteMachine> = { ...perMinute("oci-ack-failed", 30), ...bySite };
const previewLimit: RateLimit<SiteMember> = { ...perMinute("oci-preview", 30), key: ({ actor }) => actor.user.id };

const wellFormed = z
  .string()
  .regex(/^[0-9a-f]{32}$/)
  .pipe(siteIdShape);

/** A site is named by its public id. The internal one must never be accepted, or it would have to be given out. */
function refuseInternalId(context: GuardContext): void {
  if (z.uuid().safeParse(claimedSiteId(context)).success) {
    throw new AppError("IDENTITY_BOUNDARY", { detail: "siteId is the 32 characters shown in the site's settings, not an internal id." });
  }
}

/** The key that opens a script's session. A wrong key, an unknown site and a key of another site answer the same, after the same work. */
export const scriptKey: Guard<SiteMachine> = async (context) => {
  const named = claimedSiteId(context);
  await enforceLimit(verifyAddressLimit, { request: context.request, actor: wellFormed.safeParse(named).data ?? "no-site" });
  const key = context.request.headers.get("x-api-key") ?? "";
  if (key === "") throw new AppError("MISSING_API_KEY", { detail: "Send the site's API key in the x-api-key header." });
  refuseInternalId(context);
  const siteId = wellFormed.safeParse(named);
  if (!siteId.success)
    throw new AppError("VALIDATION_FAILED", { detail: "Send {siteId}: the 32 characters shown in the site's settings." });
  const machine = await authenticateKey(key, ["script"]);
  const isOurs = machine?.siteId === siteId.data;
  if (isOurs && machine.scopes.includes("script")) return machine;
  // The owner of the site sees why the script does not run.
  if (isOurs) {
    await recordScriptRun(siteId.data, { kind: "verify", errorCode: "INSUFFICIENT_SCOPE" }, context.request);
    requireScope(machine, ["script"]);
  }
  noteWrongKey(siteId.data);
  throw new AppError("INVALID_CREDENTIALS", { detail: "This site and this API key do not belong together." });
};

/** The five-minute token that the Google Ads Script got for its key. It ends with the key, and when the key loses the scope `script`. */
export const scriptSession: Guard<SiteMachine> = async (context) => {
  const session = await openScriptSession(bearer(context.request), env().OCI_SESSION_SECRET);
  const machine = session && (await callRpc("api_key_site", { p_key_id: session.keyId }, siteMachine));
  if (!machine?.scopes.includes("script"))
    throw new AppError("INVALID_SESSION_TOKEN", { detail: "The session token is missing, expired or its key was revoked. Verify again." });
  refuseOtherSite(context, machine);
  return machine;
};

/** The session of a script; its site must be named by its public id, if at all. */
export const script: Guard<SiteMachine> = (context) => {
  refuseInternalId(context);
  return scriptSession(context);
};

export type Exporter = { kind: "script"; machine: SiteMachine } | { kind: "member"; member: SiteMember };

/** A script by its session, or a member who looks at the same list on the dashboard. Each has an allowance of its own. */
export const exporter: Guard<Exporter> = async (context) => {
  refuseInternalId(context);
  if (context.request.headers.has("authorization") || !context.request.headers.has("cookie")) {
    const machine = await scriptSession(context);
    await enforceLimit(exportLimit, { request: context.request, actor: machine });
    return { kind: "script", machine };
  }
  const member = await siteMember("viewer")(context);
  await enforceLimit(previewLimit, { request: context.request, actor: member });
  return { kind: "member", member };
};
