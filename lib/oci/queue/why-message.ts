import type { WhyNotCounted } from "./why-not-counted.ts";

/** The way from a click to a count, as a person reads it. A broken link breaks one of these steps. */
export const whySteps = ["click", "consent", "seal", "ready", "sent", "verdict"] as const;
type WhyStep = (typeof whySteps)[number];

/** Where the fix is made. */
export type FixPlace = { to: "connections" | "tracker" | "sales" | "settings" } | { to: "row"; rowId: string };

export interface WhyMessage {
  /** Names the sentence: `why.links.<key>.what`. */
  key: (typeof keys)[number];
  /** Names the fix: `why.links.<fixKey>.fix`. Null for a failure, a rejection and a try that did not work: their cause has the fix. */
  fixKey: Exclude<WhyMessage["key"], keyof typeof sharedFixes> | (typeof sharedFixes)[keyof typeof sharedFixes];
  /** The code of that cause. */
  causeCode: string | null;
  step: WhyStep;
  /** counted: nothing is broken. waits: it continues by itself. broken: it does not. none: it was sent a way that gives no verdict. */
  tone: "counted" | "waits" | "broken" | "none";
  place: FixPlace | null;
}

const keys = [
  "cancelledNeverSent",
  "cancelledInFlight",
  "cancelledRetracted",
  "cancelledRetracting",
  "cancelledByHand",
  "cancelledTooLate",
  "cancelledRetractFailed",
  "noClick",
  "noMatch",
  "noConsent",
  "clickExpired",
  "archived",
  "draft",
  "held",
  "undoWindow",
  "clickTooYoung",
  "googleAsked",
  "busy",
  "quota",
  "sendingPaused",
  "deferred",
  "serverKey",
  "unreadable",
  "scriptRun",
  "due",
  "notConnected",
  "blocked",
  "actionMissing",
  "actionNamed",
  "actionElsewhere",
  "actionBlocked",
  "circuitOpen",
  "retries",
  "retriesSoon",
  "inFlight",
  "stuck",
  "failed",
  "rejected",
  "verdictDue",
  "unknown",
  "noVerdictScript",
  "noVerdictByHand",
  "noVerdictAdsApi",
  "duplicate",
  "counted",
] as const;

type Part = Pick<WhyMessage, "key" | "step" | "tone">;
const part = (key: WhyMessage["key"], step: WhyStep, tone: WhyMessage["tone"]): Part => ({ key, step, tone });

const cancelled: Record<string, Part> = {
  IN_FLIGHT: part("cancelledInFlight", "sent", "waits"),
  RETRACTED: part("cancelledRetracted", "seal", "broken"),
  RETRACTING: part("cancelledRetracting", "seal", "waits"),
  BY_HAND: part("cancelledByHand", "seal", "broken"),
  TOO_LATE: part("cancelledTooLate", "seal", "broken"),
  RETRACT_FAILED: part("cancelledRetractFailed", "seal", "broken"),
};
const waits: Record<string, Part> = {
  UNDO_WINDOW: part("undoWindow", "ready", "waits"),
  CLICK_TOO_YOUNG: part("clickTooYoung", "ready", "waits"),
  GOOGLE_ASKED: part("googleAsked", "ready", "waits"),
  CIRCUIT_OPEN: part("circuitOpen", "sent", "waits"),
  CONCURRENCY_LIMIT: part("busy", "sent", "waits"),
  VAULT_KEY_MISSING: part("serverKey", "sent", "broken"),
  VAULT_KEY_MISMATCH: part("serverKey", "sent", "broken"),
  CREDENTIALS_UNREADABLE: part("unreadable", "sent", "broken"),
  QUOTA: part("quota", "sent", "waits"),
  SENDING_PAUSED: part("sendingPaused", "sent", "waits"),
  SCRIPT_RUN: part("scriptRun", "sent", "waits"),
  DUE: part("due", "sent", "waits"),
};
const actions: Record<string, Part> = {
  MISSING: part("actionMissing", "sent", "broken"),
  NAME_DIFFERS: part("actionNamed", "sent", "broken"),
  OTHER_ACCOUNT: part("actionElsewhere", "sent", "broken"),
};
const noVerdicts: Record<string, Part> = {
  by_hand: part("noVerdictByHand", "verdict", "none"),
  ads_api: part("noVerdictAdsApi", "verdict", "none"),
};

function partOf({ link, code, at }: Pick<WhyNotCounted, "link" | "code" | "at">): Part {
  const named = code ?? "";
  switch (link) {
    case "CANCELLED":
      return cancelled[named] ?? part("cancelledNeverSent", "seal", "broken");
    case "CLICK":
      return part(named === "NO_MATCH" ? "noMatch" : "noClick", "click", "broken");
    case "CONSENT":
      return part("noConsent", "consent", "broken");
    case "CLICK_AGE":
      return part("clickExpired", "click", "broken");
    case "ARCHIVED":
      return part("archived", "ready", "broken");
    case "SEAL":
      return part("draft", "seal", "waits");
    case "HELD":
      return part("held", "ready", "waits");
    case "WAITS":
      return waits[named] ?? part("deferred", "sent", "waits");
    case "CONNECTION":
      return part("notConnected", "sent", "broken");
    case "BLOCKED":
      return part("blocked", "sent", "broken");
    case "ACTION":
      return actions[named] ?? part("actionBlocked", "sent", "broken");
    case "CIRCUIT":
      return part("circuitOpen", "sent", "waits");
    case "RETRIES":
      return part(at === null ? "retriesSoon" : "retries", "sent", "waits");
    case "IN_FLIGHT":
      return part(named === "STUCK" ? "stuck" : "inFlight", "sent", "waits");
    case "FAILED":
      return part("failed", "sent", "broken");
    case "REJECTED":
      return part("rejected", "verdict", "broken");
    case "VERDICT":
      return part("verdictDue", "verdict", "waits");
    case "UNKNOWN":
      return part("unknown", "verdict", "broken");
    case "NO_VERDICT":
      return noVerdicts[named] ?? part("noVerdictScript", "verdict", "none");
    case "DUPLICATE":
      return part("duplicate", "verdict", "counted");
    case "COUNTED":
      return part("counted", "verdict", "counted");
  }
}

/** Sentences without a fix of their own. */
const sharedFixes = {
  ...({ failed: null, rejected: null, retries: null, retriesSoon: null } as const),
  ...({
    undoWindow: "nothing",
    clickTooYoung: "nothing",
    googleAsked: "nothing",
    busy: "nothing",
    quota: "nothing",
    due: "nothing",
  } as const),
  ...({ circuitOpen: "nothing", inFlight: "nothing", verdictDue: "nothing", duplicate: "nothing", counted: "nothing" } as const),
  ...({ unreadable: "blocked" } as const),
};
const isShared = (key: WhyMessage["key"]): key is keyof typeof sharedFixes => key in sharedFixes;
const connectionKeys = new Set<WhyMessage["key"]>([
  "notConnected",
  "unreadable",
  "blocked",
  "actionMissing",
  "actionNamed",
  "actionElsewhere",
  "actionBlocked",
]);

/** Where somebody may do something about it. An archived site changes nothing but is restored, by its owner. */
function placeOf(key: WhyMessage["key"], facts: WhyNotCounted["facts"]): FixPlace | null {
  const { rowId, heldBy, retractionId, archivedAt, canRestore, isOwner } = facts;
  if (key === "archived") return canRestore ? { to: "settings" } : null;
  if (archivedAt && (connectionKeys.has(key) || key === "noClick" || key === "draft")) return null;
  if (connectionKeys.has(key)) return { to: "connections" };
  if (key === "noClick") return isOwner ? { to: "tracker" } : null;
  if (key === "draft") return { to: "sales" };
  const row = key === "held" ? heldBy?.rowId : key.startsWith("cancelled") ? retractionId : rowId;
  return row ? { to: "row", rowId: row } : null;
}

/** Which sentence explains a broken link, and where its fix is. A thrown attempt has no code: Google did not answer. */
export function whyMessage({ link, code, at, facts }: WhyNotCounted): WhyMessage {
  const found = partOf({ link, code, at });
  const { key } = found;
  const fixKey = isShared(key) ? sharedFixes[key] : key;
  return { ...found, fixKey, causeCode: fixKey === null ? (code ?? "TRANSIENT_ERROR") : null, place: placeOf(key, facts) };
}
