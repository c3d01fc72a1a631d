import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { log } from "#lib/platform/log.ts";
import type { SiteId } from "#lib/site.ts";

export interface ScriptRun {
  kind: "verify" | "export" | "preview" | "ack" | "ack-failed";
  counts?: Record<string, number>;
  errorCode?: string;
}

/** Notes one call of a script for the site's settings page. The call itself must not fail because the note could not be written. */
export async function recordScriptRun(siteId: SiteId, run: ScriptRun, request: Request): Promise<void> {
  const version = request.headers.get("x-opsmantik-script-version");
  try {
    await callRpc("record_script_run", { p_public_id: siteId, p_run: { ...run, ...(version && { version }) } }, z.unknown());
  } catch (error) {
    log.warn("script run not noted", { kind: run.kind, error });
  }
}

/** Runs a script's call and notes its outcome. */
export async function recorded<T>(
  { siteId, kind, request }: { siteId: SiteId; kind: ScriptRun["kind"]; request: Request },
  run: () => Promise<{ answer: T; counts: Record<string, number> }>,
): Promise<T> {
  try {
    const { answer, counts } = await run();
    await recordScriptRun(siteId, { kind, counts }, request);
    return answer;
  } catch (error) {
    await recordScriptRun(siteId, { kind, errorCode: error instanceof AppError ? error.code : "SERVER_ERROR" }, request);
    throw error;
  }
}
