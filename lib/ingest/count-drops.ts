import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { log } from "#lib/platform/log.ts";
import type { SiteUuid } from "#lib/site.ts";

export type DropReason = "bot" | "consent" | "privacy_signal" | "ceiling";

/** Counts events that were not taken. The answer to the caller does not depend on it. */
export async function countDrops(reason: DropReason, siteUuid: SiteUuid, drops: number): Promise<void> {
  await callRpc("count_drops", { p_site_id: siteUuid, p_reason: reason, p_drops: drops }, z.unknown()).catch((error: unknown) =>
    log.warn("drop not counted", { reason, error }),
  );
}
