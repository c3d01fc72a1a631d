import type { SessionClient } from "#lib/db/session-client.ts";
import { previewExport } from "#lib/oci/handout/export.ts";
import { firstPollSeconds } from "#lib/oci/limits.ts";
import { AppError } from "#lib/platform/app-error.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";
import { readQueueCharts } from "./charts.ts";
import { readDeliveryDays } from "./days.ts";
import { readQueueRowStory } from "./row-story.ts";
import { readQueueRows } from "./rows.ts";
import { readQueueStats } from "./stats.ts";
import { apiFilter, type ControlView, rowsPerPage, spanDays } from "./view.ts";

/** A row that does not exist: the list shows without it. */
function nothing(error: unknown): null {
  if (error instanceof AppError && error.code === "NOT_FOUND") return null;
  throw error;
}

type ControlSite = Pick<SiteSummary, "publicId" | "timezone" | "ociSyncMethod">;

/** The figures, and what the chosen tab shows. */
export async function readControlPage(db: SessionClient, site: ControlSite, view: ControlView, now: Date) {
  const { publicId, timezone, ociSyncMethod } = site;
  const [stats, queue, days, preview] = await Promise.all([
    readQueueStats(db, publicId),
    view.tab === "queue" ? readQueueTab(db, publicId, view, now) : null,
    view.tab === "days" ? readDeliveryDays(db, publicId, spanDays(view.span, timezone, now)) : null,
    view.tab === "export" && ociSyncMethod === "script" ? previewExport({ member: { db, publicId } }) : null,
  ]);
  return { stats, queue, days, preview, firstPollSeconds: firstPollSeconds() };
}

async function readQueueTab(db: SessionClient, publicId: string, view: ControlView, now: Date) {
  const filter = { ...apiFilter(view.filter, now), sort: view.sort };
  const [page, charts, story] = await Promise.all([
    readQueueRows(db, publicId, { filter, limit: rowsPerPage }),
    readQueueCharts(db, publicId, view.range),
    view.row ? readQueueRowStory(db, publicId, view.row).catch(nothing) : null,
  ]);
  return { page, charts, story, of: JSON.stringify([view.filter, view.sort]) };
}

export type ControlPage = Awaited<ReturnType<typeof readControlPage>>;
export type QueueTabData = Awaited<ReturnType<typeof readQueueTab>>;
