import { getJson } from "#components/forms/get-json.ts";
import type { DeskLead, DeskPage, LeadDetail } from "#lib/leads/desk-shapes.ts";
import type { SiteId } from "#lib/site.ts";

/** What the desk asks for besides what the server draws. */

/** The route gives no more at once. */
const idsMax = 100;
const callsOf = (siteId: SiteId) => `/api/sites/${siteId}/calls`;

export const readLead = (siteId: SiteId, id: string) => getJson<LeadDetail>(`${callsOf(siteId)}/${id}`);

export const readPage = (siteId: SiteId, query: string, cursor: string) =>
  getJson<DeskPage>(callsOf(siteId), { ...Object.fromEntries(new URLSearchParams(query)), cursor });

export async function readLeads(siteId: SiteId, ids: string[]): Promise<DeskLead[]> {
  const parts = Array.from({ length: Math.ceil(ids.length / idsMax) }, (_, part) => ids.slice(part * idsMax, (part + 1) * idsMax));
  const pages = await Promise.all(parts.map((part) => getJson<DeskPage>(callsOf(siteId), { ids: part.join() })));
  return pages.flatMap((page) => page?.leads ?? []);
}
