import { z } from "zod";
import type { Exporter } from "#lib/oci/script/guards.ts";
import { recorded } from "#lib/oci/script/runs.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { siteIdShape } from "#lib/site.ts";
import { exportForScript, previewExport } from "./export.ts";

export const exportQuery = z.object({ siteId: siteIdShape, markAsExported: z.enum(["true", "false"]).default("false") });

/** With markAsExported a script gets the flat list of what it claimed; everybody else gets a preview that changes nothing. */
export async function serveExport(actor: Exporter, isMarking: boolean, request: Request): Promise<Response> {
  if (actor.kind === "member") {
    if (isMarking) throw new AppError("FORBIDDEN", { detail: "Only the site's script takes conversions; a person sees the preview." });
    return Response.json(await previewExport(actor));
  }
  const { machine } = actor;
  const { siteId } = machine;
  if (!isMarking) {
    const preview = await recorded({ siteId, kind: "preview", request }, async () => {
      const answer = await previewExport({ machine });
      return { answer, counts: { items: answer.items.length, ...answer.counts } };
    });
    return Response.json(preview);
  }
  const { items, hasMore, warnings } = await recorded({ siteId, kind: "export", request }, async () => {
    const answer = await exportForScript(machine);
    return { answer, counts: answer.counts };
  });
  const headers = {
    ...(hasMore && { "x-opsmantik-more": "true" }),
    ...(warnings.length > 0 && { "x-opsmantik-warnings": warnings.join(",") }),
  };
  return Response.json(items, { headers });
}
