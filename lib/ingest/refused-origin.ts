import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { log } from "#lib/platform/log.ts";
import { isHostname } from "#lib/tenancy/site-fields.ts";
import { requestOrigin } from "./request-origin.ts";
import type { IngestSite } from "./site-cache.ts";

/** A page with many visitors that is not listed must not cost a write for each of them. Apart by range: one that floods keeps no other from being noted. */
const quietMs = { range: 10_000, site: 1_000 };
const rememberedMax = 10_000;
const notedUntilMs = new Map<string, number>();

/** Whether one of the keys was noted within its time. If none was, the time of all of them begins: a range that waits uses up no turn of the site. */
function isQuiet(keys: [string, number][], nowMs: number): boolean {
  if (keys.some(([key]) => (notedUntilMs.get(key) ?? 0) > nowMs)) return true;
  if (notedUntilMs.size >= rememberedMax) notedUntilMs.clear();
  for (const [key, forMs] of keys) notedUntilMs.set(key, nowMs + forMs);
  return false;
}

/** The host that an owner would add to let this page in; null for what no owner can add. */
function hostOf(origin: string | null): string | null {
  if (!origin || !URL.canParse(origin)) return null;
  const { protocol, hostname } = new URL(origin);
  const host = hostname.replace(/^www\.(?=[^.]+\.)/, "");
  return protocol === "https:" && isHostname(host) ? host : null;
}

/** Notes for the owner which page was refused, so that its domain can be added with one press. The refusal does not depend on it. */
export async function noteRefusedOrigin({ siteUuid }: IngestSite, headers: Headers, nowMs = Date.now()): Promise<void> {
  const host = hostOf(headers.get("origin"));
  const { network } = requestOrigin(headers);
  const turns: [string, number][] = [
    [`${siteUuid}/${network}`, quietMs.range],
    [siteUuid, quietMs.site],
  ];
  if (!host || isQuiet(turns, nowMs)) return;
  await callRpc("note_refused_origin", { p_site_id: siteUuid, p_host: host, ...(network && { p_network: network }) }, z.unknown()).catch(
    (error: unknown) => log.warn("refused page not noted", { error }),
  );
}
