import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { log } from "#lib/platform/log.ts";
import type { SiteId } from "#lib/site.ts";

/** How often a wrong key was sent for each site, until it is written down. */
const tries = new Map<SiteId, number>();
/** More sites than this within one interval are somebody who guesses ids; those are not written down. */
const sitesMax = 1_000;
const writeEveryMs = 10_000;
let timer: NodeJS.Timeout | undefined;

/**
 * Notes a wrong key for the site's owner. Nothing is looked up or written while the caller waits, so that the time of the answer
 * does not say whether the site exists, and a flood of guesses is one write in ten seconds. What a process that ends has not written is lost:
 * it would only have told the owner.
 */
export function noteWrongKey(siteId: SiteId): void {
  if (tries.size >= sitesMax && !tries.has(siteId)) return;
  tries.set(siteId, (tries.get(siteId) ?? 0) + 1);
  timer ??= setTimeout(() => void writeWrongKeys(), writeEveryMs).unref();
}

export async function writeWrongKeys(): Promise<void> {
  clearTimeout(timer);
  timer = undefined;
  const noted = Object.fromEntries(tries);
  tries.clear();
  if (Object.keys(noted).length === 0) return;
  await callRpc("record_wrong_keys", { p_tries: noted }, z.unknown()).catch((error: unknown) =>
    log.warn("wrong keys not noted", { error }),
  );
}
