import { z } from "zod";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import type { SiteId } from "#lib/site.ts";
import { syncMethods } from "#lib/site.ts";
import { isOlder } from "./version.ts";

const scriptStatus = z.object({
  syncMethod: z.enum(syncMethods),
  now: z.string(),
  hasKey: z.boolean(),
  waiting: z.number(),
  runs: z.array(
    z.object({
      kind: z.enum(["verify", "export", "preview", "ack", "ack-failed"]),
      counts: z.record(z.string(), z.number()),
      version: z.string().nullable(),
      errorCode: z.string().nullable(),
      times: z.number(),
      at: z.string(),
    }),
  ),
});
export type ScriptStatus = z.output<typeof scriptStatus>;
export type ScriptRunLine = ScriptStatus["runs"][number];

export const readScriptStatus = (db: SessionClient, siteId: SiteId) =>
  callAsUser(db, "script_status", { p_public_id: siteId }, scriptStatus);

/** The script is meant to run every hour; one that runs once a day is still well. */
const silentAfterHours = 25;

export interface Diagnosis {
  code: "NO_KEY" | "NEVER_RAN" | "SWITCHED" | "FAILED" | "SILENT" | "OLD" | "IDLE" | "WELL";
  tone: "failed" | "retry" | "completed";
  hours?: number;
  errorCode?: string;
}

const hoursSince = ({ at }: ScriptRunLine, now: string) => Math.floor((Date.parse(now) - Date.parse(at)) / 3_600_000);

/** A wrong key counts only when the script itself is silent: anybody who knows the site's public id can send one. */
function newestRun({ runs, now }: ScriptStatus): ScriptRunLine | undefined {
  const own = runs.find(({ errorCode }) => errorCode !== "INVALID_CREDENTIALS");
  return own && hoursSince(own, now) < silentAfterHours ? own : runs[0];
}

/** The state of a script site's script in one sentence: the first thing that is wrong, or that nothing is. */
export function diagnose(status: ScriptStatus, currentVersion: string): Diagnosis {
  const last = newestRun(status);
  if (!last) return status.hasKey ? { code: "NEVER_RAN", tone: "retry" } : { code: "NO_KEY", tone: "retry" };
  const hours = hoursSince(last, status.now);
  // It was refused while the site sent by API. The site no longer does.
  if (last.errorCode === "WRONG_SYNC_METHOD" && hours < silentAfterHours) return { code: "SWITCHED", tone: "retry" };
  if (last.errorCode && last.errorCode !== "WRONG_SYNC_METHOD") return { code: "FAILED", tone: "failed", errorCode: last.errorCode };
  if (hours >= silentAfterHours) return { code: "SILENT", tone: status.waiting > 0 ? "failed" : "retry", hours };
  if (last.kind === "ack-failed") return { code: "FAILED", tone: "failed", errorCode: "APPLY_FAILED" };
  if (isOlder(last.version, currentVersion)) return { code: "OLD", tone: "retry" };
  const exported = status.runs.find(({ kind }) => kind === "export");
  if (status.waiting === 0 && exported && (exported.counts.seals ?? 0) === 0) return { code: "IDLE", tone: "completed" };
  return { code: "WELL", tone: "completed" };
}
