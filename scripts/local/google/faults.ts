/** Faults that a test scripts ahead of time. Each is used up by the calls it matches, and survives a restart like everything else. */
import { seededRandom } from "#scripts/local/seeded-random.ts";
import { adsFailure } from "./ads-api/ads-failure.ts";
import { errorAnswer, errorInfo, requestInfo, retryInfo, unauthenticated } from "./failures.ts";
import type { Sim } from "./sim.ts";
import type { Answer, Call, Fault } from "./sim-shapes.ts";

export const faultFields = [
  ...["kind", "match", "times", "after", "probability", "seed"],
  ...["status", "code", "reason", "message", "retryDelay", "rateScope", "isDaily", "delayMs", "errors"],
] as const;
export const faultTargets = {
  oauth: ["auth", "token"],
  data_manager: ["ingest", "retrieve"],
  ads_api: ["uploadClickConversions", "uploadConversionAdjustments", "search"],
} as const;

/** The first fault that matches this call; the match is counted. */
export function takeFault({ store }: Sim, call: Call): Fault | null {
  for (const [id, fault] of store.entries("faults")) {
    if (!matches(fault, call)) continue;
    if (fault.after > 0) {
      store.put("faults", id, { ...fault, after: fault.after - 1 });
      continue;
    }
    const draws = (fault.draws ?? 0) + 1;
    if (fault.probability !== undefined && seededRandom((fault.seed ?? 1) * 100_003 + draws)() >= fault.probability) {
      store.put("faults", id, { ...fault, draws });
      continue;
    }
    const times = fault.times === null ? null : fault.times - 1;
    if (times === 0) store.remove("faults", id);
    else store.put("faults", id, { ...fault, draws, times });
    return fault;
  }
  return null;
}

function matches({ match }: Fault, { service, method, accounts }: Call): boolean {
  if (match.service && match.service !== service) return false;
  if (match.method && match.method !== method) return false;
  return !match.account || accounts.includes(match.account);
}

/** The answer of a fault that keeps the call from being handled; null when it is handled after all. */
export function faultAnswer(fault: Fault, call: Call): Answer | null {
  if (fault.kind === "revoked") return revokedAnswer(call);
  if (fault.kind !== "status") return null;
  const status = fault.status ?? 503;
  if (call.service === "oauth") {
    return {
      status,
      body: { error: fault.reason ?? "internal_failure", error_description: fault.message ?? "Scripted." },
      message: "oauth2.Error",
    };
  }
  return call.service === "ads_api" ? adsStatus(fault, status, call) : dataManagerStatus(fault, status, call);
}

function revokedAnswer(call: Call): Answer {
  if (call.service === "oauth") {
    const body = { error: "invalid_grant", error_description: "Token has been expired or revoked." };
    return { status: 400, body, message: "oauth2.Error" };
  }
  if (call.service === "data_manager") return unauthenticated("revoked", "datamanager.googleapis.com");
  return adsFailure(call, 401, [{ errorCode: { authenticationError: "OAUTH_TOKEN_REVOKED" }, message: "Token has been revoked." }]);
}

const usualCodes: Record<number, Record<string, string>> = {
  400: { requestError: "UNKNOWN" },
  401: { authenticationError: "OAUTH_TOKEN_INVALID" },
  403: { authorizationError: "USER_PERMISSION_DENIED" },
  429: { quotaError: "RESOURCE_EXHAUSTED" },
  500: { internalError: "INTERNAL_ERROR" },
  503: { internalError: "TRANSIENT_ERROR" },
  504: { internalError: "DEADLINE_EXCEEDED" },
};

function adsStatus({ code, message, retryDelay, rateScope = "ACCOUNT", isDaily }: Fault, status: number, call: Call): Answer {
  const errorCode = code ?? usualCodes[status] ?? { internalError: "UNKNOWN" };
  if (status !== 429) return adsFailure(call, status, [{ errorCode, message: message ?? "Scripted." }]);
  const rateName = isDaily ? "Number of operations for explorer access" : "Requests per minute";
  const quotaErrorDetails = { rateScope, rateName, ...(retryDelay && { retryDelay }) };
  const text = message ?? (retryDelay ? `Too many requests. Retry in ${retryDelay.replace(/s$/, "")} seconds.` : "Too many requests.");
  return adsFailure(call, status, [{ errorCode, message: text, details: { quotaErrorDetails } }]);
}

function dataManagerStatus({ reason, message, retryDelay, isDaily }: Fault, status: number, call: Call): Answer {
  if (status !== 429) {
    const info = errorInfo({ reason: reason ?? "INTERNAL_ERROR", domain: "datamanager.googleapis.com" });
    return errorAnswer(status, status >= 500 && !reason ? [] : [info, requestInfo(call.requestId)], message);
  }
  const metadata = {
    service: "datamanager.googleapis.com",
    quota_limit: isDaily ? "MutateRequestsPerDayPerProject" : "MutateRequestsPerMinutePerProject",
    quota_limit_value: isDaily ? "100000" : "300",
  };
  const details = [errorInfo({ reason: reason ?? "RATE_LIMIT_EXCEEDED", metadata }), ...(retryDelay ? [retryInfo(retryDelay)] : [])];
  return errorAnswer(429, details, message);
}
