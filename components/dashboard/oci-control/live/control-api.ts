import type { ExportItem } from "#lib/oci/handout/items.ts";
import type { QueueCharts } from "#lib/oci/queue/charts.ts";
import type { DeliveryDays } from "#lib/oci/queue/days.ts";
import type { QueueRowStory } from "#lib/oci/queue/row-story.ts";
import type { QueueRows } from "#lib/oci/queue/rows.ts";
import type { QueueStats } from "#lib/oci/queue/stats.ts";

/** What this page asks the server while it is open. The answers are our own routes' and have their shapes checked there. */

/** Null: no connection, or an answer that is not one. The page then says since when it knows nothing new. */
async function getJson<Answer>(path: string, query: Record<string, string>): Promise<Answer | null> {
  try {
    const response = await fetch(`${path}?${new URLSearchParams(query)}`, { cache: "no-store" });
    return response.ok ? ((await response.json()) as Answer) : null; // the route's own zod shape stands behind this type
  } catch {
    return null;
  }
}

export const fetchStats = (siteId: string) => getJson<QueueStats>("/api/oci/queue-stats", { siteId });
export const fetchRows = (siteId: string, query: Record<string, string>) => getJson<QueueRows>("/api/oci/queue-rows", { siteId, ...query });
export const fetchCharts = (siteId: string, range: string) => getJson<QueueCharts>("/api/oci/queue-charts", { siteId, range });
export const fetchStory = (siteId: string, id: string) => getJson<QueueRowStory>(`/api/oci/queue-rows/${id}`, { siteId });

export const fetchDays = (siteId: string, span: { from: string; to: string }) =>
  getJson<DeliveryDays>("/api/oci/delivery-days", { siteId, ...span });
export const daysExportUrl = (siteId: string, span: { from: string; to: string }) =>
  `/api/oci/delivery-export?${new URLSearchParams({ siteId, ...span })}`;

export interface ExportPreview {
  items: ExportItem[];
  counts: { queued: number; skipped: number };
  warnings: string[];
}
export const fetchExportPreview = (siteId: string) =>
  getJson<ExportPreview>("/api/oci/google-ads-export", { siteId, markAsExported: "false" });

export const exportUrl = (siteId: string, query: Record<string, string>) =>
  `/api/oci/queue-export?${new URLSearchParams({ siteId, ...query })}`;
