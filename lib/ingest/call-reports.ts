import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { log } from "#lib/platform/log.ts";
import { siteIdShape } from "#lib/site.ts";

/** What became of a telephone system's request, as far as its signature goes. The owner sees it; the system gets one answer for all of them. */
type CallResult = "signed" | "no_time" | "old_time" | "no_signature" | "no_secret" | "wrong_signature";

/** Equal lines within this time are one write: a flood of wrong signatures does not flood the database. */
const quietMs = 1_000;
const rememberedMax = 10_000;
const notedUntilMs = new Map<string, number>();

/** Notes a request for the live log on the setup page. The answer does not depend on it. */
export async function noteCallReport(siteId: string, result: CallResult, nowMs = Date.now()): Promise<void> {
  if (!/^[0-9a-f]{32}$/.test(siteId)) return;
  const key = `${siteId}/${result}`;
  if ((notedUntilMs.get(key) ?? 0) > nowMs) return;
  if (notedUntilMs.size >= rememberedMax) notedUntilMs.clear();
  notedUntilMs.set(key, nowMs + quietMs);
  await callRpc("note_call_report", { p_public_id: siteIdShape.parse(siteId), p_result: result }, z.unknown()).catch((error: unknown) =>
    log.warn("call report not noted", { error }),
  );
}
