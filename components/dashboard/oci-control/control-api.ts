import { getJson } from "#components/forms/get-json.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import type { QueueRows } from "#lib/oci/queue/rows.ts";
import type { SiteId } from "#lib/site.ts";

/** What this page asks for besides what the server draws: rows further down, and the story of a row that somebody opens. */

export const fetchRows = (siteId: SiteId, query: Record<string, string>) => getJson<QueueRows>("/api/oci/queue-rows", { siteId, ...query });
export const fetchStory = (siteId: SiteId, id: string) => getJson<QueueRowStory>(`/api/oci/queue-rows/${id}`, { siteId });

export const daysExportUrl = (siteId: SiteId, span: { from: string; to: string }) =>
  `/api/oci/delivery-export?${new URLSearchParams({ siteId, ...span })}`;
export const exportUrl = (siteId: SiteId, query: Record<string, string>) =>
  `/api/oci/queue-export?${new URLSearchParams({ siteId, ...query })}`;
