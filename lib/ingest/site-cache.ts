import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { consentModes, type SiteId, siteUuidShape } from "#lib/site.ts";

const ingestSite = z
  .object({
    siteUuid: siteUuidShape,
    domains: z.array(z.string()),
    consentMode: z.enum(consentModes),
    respectsPrivacySignal: z.boolean(),
    pageViews: z.boolean(),
  })
  .nullable();
export type IngestSite = NonNullable<z.output<typeof ingestSite>>;

/** A changed domain list or an archived site takes effect within this time; an unknown id may be created at any moment. */
const knownForMs = 15_000;
const unknownForMs = 3_000;
const rememberedMax = 10_000;

const cache = new Map<string, { site: Promise<IngestSite | null>; until: number }>();

/** The site behind a public id, from this process's memory when it was asked for a moment ago. */
export function siteForIngest(siteId: SiteId, now = Date.now()): Promise<IngestSite | null> {
  const hit = cache.get(siteId);
  if (hit && hit.until > now) return hit.site;
  if (!/^[0-9a-f]{32}$/.test(siteId)) return Promise.resolve(null);
  const site = callRpc("site_for_ingest", { p_public_id: siteId }, ingestSite);
  const entry = { site, until: now + knownForMs };
  cache.delete(siteId);
  cache.set(siteId, entry);
  const oldest = cache.keys().next().value;
  if (cache.size > rememberedMax && oldest !== undefined) cache.delete(oldest);
  site.then(
    (found) => {
      if (!found) entry.until = now + unknownForMs;
    },
    () => cache.delete(siteId), // a database that was away is asked again at once
  );
  return site;
}
