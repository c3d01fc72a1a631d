import type { ConnectionState } from "./connection-shapes.ts";

export interface ConnectionStatus {
  code: "NOT_CONNECTED" | "BLOCKED" | "NO_ACTION" | "ACTION_BLOCKED" | "PAUSED" | "PROBING" | "QUOTA" | "TEST_FAILED" | "NEW" | "WELL";
  tone: "blocked" | "retry" | "completed";
  /** What Google said, where the code alone does not say it. */
  errorCode?: string;
  /** When it continues by itself, or since when it is stopped. */
  at?: string;
  /** The conversion that waits for an action. */
  conversionName?: string;
}

/** The state of a site's connection to Google's APIs: the first thing that keeps conversions from being sent, or that nothing does. */
export function connectionStatus({ connected, actions, missingActions, health, testError }: ConnectionState, now: Date): ConnectionStatus {
  if (!connected) return { code: "NOT_CONNECTED", tone: "blocked" };
  const blocked = health?.blocked;
  if (blocked) return { code: "BLOCKED", tone: "blocked", errorCode: blocked.code, at: blocked.since };
  const refused = actions.find((action) => action.blocked);
  const [missing] = missingActions;
  if (missing !== undefined) return { code: "NO_ACTION", tone: "blocked", conversionName: missing };
  if (refused?.blocked) {
    const { code: errorCode, since: at } = refused.blocked;
    return { code: "ACTION_BLOCKED", tone: "blocked", errorCode, at, conversionName: refused.conversionName };
  }
  if (health?.state === "OPEN") return { code: "PAUSED", tone: "retry", ...(health.nextProbeAt && { at: health.nextProbeAt }) };
  if (health?.state === "HALF_OPEN") return { code: "PROBING", tone: "retry" };
  if (health?.quotaUntil && Date.parse(health.quotaUntil) > now.getTime()) return { code: "QUOTA", tone: "retry", at: health.quotaUntil };
  if (testError) return { code: "TEST_FAILED", tone: "retry", errorCode: testError.code, at: testError.at };
  if (!health?.lastSuccessAt) return { code: "NEW", tone: "completed" };
  return { code: "WELL", tone: "completed", at: health.lastSuccessAt };
}
