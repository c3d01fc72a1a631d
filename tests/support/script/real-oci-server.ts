import { bulkSeal } from "#tests/fixtures/bulk-seal.ts";
import { minutesLater } from "#tests/fixtures/queue.ts";
import { service } from "#tests/fixtures/service.ts";
import { type OciApp, serveOciRoutes } from "#tests/support/oci-app.ts";
import type { ScriptServer } from "./script-bench.ts";

/** The real routes over the real database, a site for each caller. */
export async function openRealOciServer(app: OciApp): Promise<ScriptServer> {
  const site = await app.newSite();
  const { url, stop } = await serveOciRoutes();
  const rowId = (id: string) => id.replace("seal_", "");
  return {
    url,
    siteId: site.siteId,
    apiKey: site.key,
    pageSize: 500,
    enqueue: async (count, click = "gclid") => (await bulkSeal(app.db.sql, site, count, { click })).map((id) => `seal_${id}`),
    async statesOf(ids) {
      const rows = await app.db.sql`
        select id, status, provider_error_code as code, provider_error_category as category from public.offline_conversion_queue
        where id = any (${ids.map(rowId)})`;
      const byId = new Map(rows.map((row) => [`seal_${row.id}`, row]));
      return ids.map((id) => {
        const { status, code, category } = byId.get(id) ?? {};
        return { status, ...(code && { code }), ...(category && { category }) };
      });
    },
    async recover() {
      await service(app.db.sql, "recover_stuck_offline_conversion_jobs", {}, minutesLater(20, new Date()));
    },
    stop,
  };
}
