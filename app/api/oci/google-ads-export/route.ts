import { handler } from "#lib/http/handler.ts";
import { exportQuery, serveExport } from "#lib/oci/handout/serve-export.ts";
import { exporter, scriptRequests, wrongKeys } from "#lib/oci/script/guards.ts";
import { scriptRefusal } from "#lib/oci/script/refusal.ts";

/** GET /api/oci/google-ads-export hands conversions to a site's script, or shows what it would hand out. */
export const GET = handler({
  guard: exporter,
  limits: { before: scriptRequests, failures: wrongKeys },
  query: exportQuery,
  refuse: scriptRefusal,
  run: ({ actor, query, request }) => serveExport(actor, query, request),
});
