import { z } from "zod";
import { callRpc } from "#lib/db/call-rpc.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { googleAds } from "#lib/providers/google-ads-platform.ts";
import type { UploadResult } from "#lib/providers/port.ts";
import type { SiteId } from "#lib/site.ts";
import { withoutSecrets } from "./connection.ts";
import type { DryRunAnswer } from "./connection-shapes.ts";
import { jobRow } from "./pipeline.ts";
import { orUnavailable, providerKey, requireConnection } from "./site-connection.ts";

/** A dry run has one row: where in the request it stood says nothing. */
const rowPath = /^(events\.events|destinations\.destinations|conversions|conversion_adjustments)\[\d+\]\.?/;

const askedRow = jobRow.and(z.object({ isChosenAction: z.boolean() }));

/** Asks Google whether it would take a row as it stands. A row that passes proves its conversion action, so a block of that action ends. */
export async function dryRun(siteId: SiteId, rowId: string): Promise<DryRunAnswer> {
  const connection = await requireConnection(siteId);
  const job = await callRpc("conversion_job", { p_site_id: connection.siteUuid, p_id: rowId }, askedRow.nullable());
  if (!job) throw new AppError("NOT_FOUND", { detail: "There is no such row, or its conversion has no conversion action yet." });
  const { results, block } = await orUnavailable(googleAds().validateConversion(job, connection));
  const result: UploadResult | undefined = results[0];
  const ok = result?.status === "COMPLETED";
  if (ok && job.isChosenAction) {
    await callRpc(
      "record_provider_test",
      {
        p_site_id: connection.siteUuid,
        p_provider_key: providerKey,
        p_version: connection.version,
        p_ok: true,
        p_conversion_name: job.conversionName,
      },
      z.unknown(),
    );
  }
  const message = result?.message ?? block?.message;
  return {
    ok,
    transport: job.via,
    code: result?.code ?? block?.code ?? null,
    category: result?.category ?? null,
    field: result?.field?.replace(rowPath, "") || null,
    message: message === undefined ? null : withoutSecrets(message, connection),
  };
}
