import { z } from "zod";
import type { Exporter } from "#lib/oci/script/guards.ts";
import { recorded } from "#lib/oci/script/runs.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { siteIdShape } from "#lib/site.ts";
import { exportForScript, previewExport } from "./export.ts";
import { makeTestItem } from "./test-item.ts";

export const exportQuery = z.object({
  siteId: siteIdShape,
  markAsExported: z.enum(["true", "false"]).default("false"),
  /** With a test conversion beside the list. It is never handed out for sending. */
  test: z.enum(["true", "false"]).default("false"),
});

/** With markAsExported a script gets the flat list of what it claimed; everybody else gets a preview that changes nothing. */
export async function serveExport(actor: Exporter, query: z.output<typeof exportQuery>, request: Request): Promise<Response> {
  const isMarking = query.markAsExported === "true";
  const isTest = query.test === "true";
  if (isMarking && isTest)
    throw new AppError("VALIDATION_FAILED", { detail: "A test conversion is only shown in a preview, without markAsExported=true." });
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
    return Response.json(isTest ? { ...preview, test: await makeTestItem(machine) } : preview);
  }
  const { items, hasMore, warnings, pausedUntil } = await recorded({ siteId, kind: "export", request }, async () => {
    const answer = await exportForScript(machine);
    return { answer, counts: answer.counts };
  });
  const headers = {
    ...(hasMore && { "x-opsmantik-more": "true" }),
    ...(pausedUntil && { "x-opsmantik-paused-until": new Date(pausedUntil).toISOString() }),
    ...(warnings.length > 0 && { "x-opsmantik-warnings": warnings.join(",") }),
  };
  return Response.json(items, { headers });
}
