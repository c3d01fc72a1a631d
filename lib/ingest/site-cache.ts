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
    ceilings: z.object({ minuteMax: z.number(), dayMax: z.number() }),
  })
  .nullable();
export type IngestSite = NonNullable<z.output<typeof ingestSite>>;

/** A changed domain list or an archived site takes effect within this time; an unknown id may be created at any moment. */
const knownForMs = 15_000;
const unknownForMs = 3_000;
const rememberedMax = 10_000;

interface Remembered {
  site: Promise<IngestSite | null>;
  until: number;
}

/** Apart from each other: ids that somebody makes up never push out a real site. */
const known = new Map<string, Remembered>();
const unknown = new Map<string, number>();

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key); // re-inserted at the end, so that the first entry is the oldest
  map.set(key, value);
  const oldest = map.keys().next().value;
  if (map.size > rememberedMax && oldest !== undefined) map.delete(oldest);
}

/** What this process knows of a public id: its site, that there is none (null), or nothing (undefined). A site that it knew a while ago is asked for again. */
export function rememberedSite(siteId: SiteId, now = Date.now()): Promise<IngestSite | null> | null | undefined {
  if (!/^[0-9a-f]{32}$/.test(siteId)) return null;
  const hit = known.get(siteId);
  if (hit) return hit.until > now ? hit.site : lookUpSite(siteId, now);
  return (unknown.get(siteId) ?? 0) > now ? null : undefined;
}

/** Asks the database for the site behind a public id. Requests that ask at the same time share the answer. */
export function lookUpSite(siteId: SiteId, now = Date.now()): Promise<IngestSite | null> {
  const site = callRpc("site_for_ingest", { p_public_id: siteId }, ingestSite);
  remember(known, siteId, { site, until: now + knownForMs });
  site.then(
    (found) => {
      if (found) return;
      known.delete(siteId);
      remember(unknown, siteId, now + unknownForMs);
    },
    () => known.delete(siteId), // a database that was away is asked again at once
  );
  return site;
}
