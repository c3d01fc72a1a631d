import { createHash } from "node:crypto";
import { z } from "zod";
import { leadActions } from "#lib/channels.ts";
import { callRpc } from "#lib/db/call-rpc.ts";
import { hashedAddress } from "#lib/http/caller-address.ts";
import type { Guard } from "#lib/http/handler.ts";
import { addressLimit, type RateLimit } from "#lib/http/rate-limit.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { boundedText } from "#lib/platform/bounded-text.ts";
import { callersOf } from "#lib/seal/caller-hashes.ts";
import { consentModes, type SiteId, type SiteUuid, siteIdShape, siteUuidShape, storedSiteId } from "#lib/site.ts";
import { admitEvents } from "./admit.ts";
import { noteCallReport } from "./call-reports.ts";
import { isSignedBySite } from "./call-secret.ts";
import { type CapturedEvent, isReservedId, systemIdPrefix } from "./event-shape.ts";
import { storedAddress } from "./stored-address.ts";
import { wakeWorker } from "./wake-worker.ts";

const signatureWindowSeconds = 300;

const signedSite = z
  .object({
    siteUuid: siteUuidShape,
    siteId: storedSiteId,
    consentMode: z.enum(consentModes),
    secrets: z.array(z.object({ keyId: z.string(), sealed: z.string() })),
  })
  .nullable();

export interface SignedSystem {
  siteUuid: SiteUuid;
  siteId: SiteId;
  consentMode: "off" | "required";
  /** When and what the system signed: the call's identity where the body brings none. */
  signedAtSeconds: number;
  rawBody: string;
}

/** Telephone systems send "" for what they do not know. */
const emptyAsNull = (value: unknown) => (value === undefined || (typeof value === "string" && value.trim() === "") ? null : value);
const optionalText = (maxLength: number) => z.preprocess(emptyAsNull, boundedText(maxLength).nullable());

/** What a telephone system, a CRM or a proxy reports about one call. Fields of other systems are left out. */
export const callEventBody = z.object({
  event_id: optionalText(64),
  intent_stamp: optionalText(64),
  fingerprint: optionalText(64),
  phone_number: optionalText(32),
  action: z.preprocess((value) => emptyAsNull(value) ?? "phone_call", z.enum(leadActions)),
  url: z.preprocess(
    emptyAsNull,
    z
      .url({ protocol: /^https?$/ })
      .max(4096)
      .nullable(),
  ),
  gclid: optionalText(512),
  wbraid: optionalText(512),
  gbraid: optionalText(512),
});

/** HMAC-SHA256 of `ts.rawBody` with the site's secret, the present one or the one that it replaced in the last seven days. */
export const signedCallEvent: Guard<SignedSystem> = async ({ request, rawBody }) => {
  const headers = {
    site: request.headers.get("x-ops-site-id") ?? "",
    ts: request.headers.get("x-ops-ts") ?? "",
    signature: (request.headers.get("x-ops-signature") ?? "").toLowerCase(),
  };
  const isTime = /^\d{10}$/.test(headers.ts);
  const isFresh = isTime && Math.abs(Date.now() / 1000 - Number(headers.ts)) <= signatureWindowSeconds;
  const plausible = isFresh && /^[0-9a-f]{64}$/.test(headers.signature);
  const site = plausible ? await callRpc("call_event_secrets", { p_public_id: siteIdShape.parse(headers.site) }, signedSite) : null;
  const isSigned = plausible && isSignedBySite(site, { text: `${headers.ts}.${rawBody}`, signature: headers.signature });
  const fault = !isTime ? "no_time" : !isFresh ? "old_time" : !plausible ? "no_signature" : "wrong_signature";
  await noteCallReport(headers.site, isSigned ? "signed" : site?.secrets.length === 0 ? "no_secret" : fault);
  if (!site || !isSigned) {
    throw new AppError("INVALID_SIGNATURE", {
      detail: "Sign `ts.body` with the site's call secret (HMAC-SHA256, hex) in x-ops-signature, with x-ops-site-id and a fresh x-ops-ts.",
    });
  }
  const { siteUuid, siteId, consentMode } = site;
  return { siteUuid, siteId, consentMode, signedAtSeconds: Number(headers.ts), rawBody };
};

/** A proxy may report for many sites: one of them with a wrong secret must not keep the others out. */
export const callEventRequests = addressLimit("call-event-address", 3000);
export const wrongSignatures: readonly RateLimit[] = [
  addressLimit("call-event-guesses", 1200),
  {
    name: "call-event-guesses-of-site",
    // More than a site may report: a caller with the right signature is never kept out by this, however many instances count.
    requests: 300,
    windowSeconds: 60,
    key: ({ request }) => `${(request.headers.get("x-ops-site-id") ?? "").slice(0, 32)}:${hashedAddress(request.headers)}`,
    whenRedisIsDown: "fail-open",
  },
];

export const callEventLimit: RateLimit<SignedSystem> = {
  name: "call-event",
  requests: 150,
  windowSeconds: 60,
  key: ({ actor }) => actor.siteId,
  whenRedisIsDown: "fail-open",
};

/** A body that names nobody could be two callers: it counts as sent again for a minute only. */
const resendSeconds = (body: z.output<typeof callEventBody>) =>
  (body.phone_number ?? body.fingerprint ?? body.gclid ?? body.wbraid ?? body.gbraid) ? signatureWindowSeconds : 60;

/** The id of a call in the space of telephone systems, which no unsigned request can write. */
const systemStamp = (...parts: string[]) => `${systemIdPrefix}${createHash("sha256").update(JSON.stringify(parts)).digest("base64url")}`;

/**
 * The click's id, which the tracker knows too; else the system's own, else the body itself: a system that signs and sends the same body
 * again reports the same call. The stamp of the previous time window recognises a resend that fell into the next one.
 */
function stampOf({ signedAtSeconds, rawBody }: SignedSystem, body: z.output<typeof callEventBody>): { stamp: string; olderStamp?: string } {
  if (body.intent_stamp) return { stamp: body.intent_stamp };
  if (body.event_id) return { stamp: systemStamp("event", body.event_id) };
  const window = Math.floor(signedAtSeconds / resendSeconds(body));
  const stampIn = (which: number) => systemStamp("body", String(which), rawBody);
  return { stamp: stampIn(window), olderStamp: stampIn(window - 1) };
}

async function addCallerNumber({ siteId, siteUuid }: SignedSystem, stamp: string, phone: string): Promise<void> {
  const [[caller] = []] = await callersOf(siteId, [{ phone }]);
  const added = { p_site_id: siteUuid, p_intent_stamp: stamp, p_phone: phone, p_caller: { ...caller } };
  await callRpc("add_caller_number", added, z.object({ added: z.number() }));
}

/**
 * One reported call: the same admission and billing as an event of the tracker. The same click reported by both is one, and the answer
 * is "duplicate" only if a signed report came before: what the tracker said, anybody could have said.
 */
export async function reportCall(actor: SignedSystem, body: z.output<typeof callEventBody>): Promise<Response> {
  const { stamp, olderStamp } = stampOf(actor, body);
  const captured: Omit<CapturedEvent, "visitor"> = {
    category: "conversion",
    action: body.action,
    label: null,
    value: null,
    url: (body.url && storedAddress(body.url)) ?? "",
    referrer: null,
    device: null,
    country: null,
    city: null,
    utm: {},
    gclid: body.gclid,
    wbraid: body.wbraid,
    gbraid: body.gbraid,
    ageMs: 0,
    scopes: null,
    trackerVersion: null,
    reporter: "system",
    marketingConsent: null, // a telephone system cannot know; the visitor's own choice holds
    marketingDefault: actor.consentMode === "off",
    intentStamp: stamp,
    phone: body.phone_number,
  };
  const call = {
    eid: stamp,
    olderEid: olderStamp,
    label: stamp,
    address: body.url ?? "",
    visitor: isReservedId(body.fingerprint ?? "") ? stamp : (body.fingerprint ?? stamp),
    captured,
  };
  const { results, overage } = await admitEvents(actor.siteUuid, [call], Date.now());
  const headers: Record<string, string> = { ...(overage && { "x-opsmantik-overage": "true" }) };
  if (results[0] === "quota") {
    return Response.json(
      { ok: false, error: "quota_exceeded", code: "quota_exceeded" },
      { status: 429, headers: { "x-opsmantik-quota-exceeded": "1", "retry-after": "600" } },
    );
  }
  if (results[0] === "duplicate") {
    // This system reported the call before. It may know the number only now.
    if (body.phone_number !== null) await addCallerNumber(actor, stamp, body.phone_number);
  }
  if (results[0] === "duplicate")
    return Response.json({ ok: true, status: "duplicate" }, { headers: { ...headers, "x-opsmantik-dedup": "1" } });
  const woken = await wakeWorker(actor.siteId);
  return Response.json(
    { ok: true, status: woken ? "queued" : "degraded" },
    { headers: { ...headers, ...(!woken && { "x-opsmantik-fallback": "true" }) } },
  );
}
