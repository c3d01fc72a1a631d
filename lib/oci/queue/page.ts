import type { SessionClient } from "#lib/db/session-client.ts";
import { previewExport } from "#lib/oci/handout/export.ts";
import { firstPollSeconds } from "#lib/oci/limits.ts";
import { AppError } from "#lib/platform/app-error.ts";
import type { SiteId } from "#lib/site.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";
import { readQueueActions } from "./actions.ts";
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

type ControlSite = Pick<SiteSummary, "siteId" | "timezone" | "ociSyncMethod">;

/** The figures, and what the chosen tab shows. */
export async function readControlPage(db: SessionClient, site: ControlSite, view: ControlView, now: Date) {
  const { siteId, timezone, ociSyncMethod } = site;
  const [stats, actions, queue, days, preview] = await Promise.all([
    readQueueStats(db, siteId),
    readQueueActions(db, siteId),
    view.tab === "queue" ? readQueueTab(db, siteId, view, now) : null,
    view.tab === "days" ? readDeliveryDays(db, siteId, spanDays(view.span, timezone, now)) : null,
    view.tab === "export" && ociSyncMethod === "script" ? previewExport({ member: { db, siteId } }) : null,
  ]);
  // What the reader can still undo survives a reload.
  const last = actions.find(({ byYou, undoUntil }) => byYou && undoUntil !== null) ?? null;
  return { stats, last, queue, days, preview, firstPollSeconds: firstPollSeconds() };
}

async function readQueueTab(db: SessionClient, siteId: SiteId, view: ControlView, now: Date) {
  const filter = { ...apiFilter(view.filter, now), sort: view.sort };
  const [page, charts, story] = await Promise.all([
    readQueueRows(db, siteId, { filter, limit: rowsPerPage }),
    readQueueCharts(db, siteId, view.range),
    view.row ? readQueueRowStory(db, siteId, view.row).catch(nothing) : null,
  ]);
  return { page, charts, story, of: JSON.stringify([view.filter, view.sort]) };
}

export type ControlPage = Awaited<ReturnType<typeof readControlPage>>;
export type QueueTabData = Awaited<ReturnType<typeof readQueueTab>>;
