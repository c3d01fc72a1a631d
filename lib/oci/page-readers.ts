import "server-only";
import { notFound } from "next/navigation";
import { pageClient, readPage } from "#lib/auth/session.ts";
import { firstPollSeconds, maxAttempts } from "#lib/delivery/limits.ts";
import { AppError } from "#lib/platform/app-error.ts";
import type { SiteSummary } from "#lib/tenancy/site-fields.ts";
import { type QueueRow, queueCharts, queueRowStory, queueRows, queueStats } from "./control-shapes.ts";
import { apiFilter, type ControlView, rowsPerPage, spanDays } from "./control-view.ts";
import { deliveryDays } from "./delivery-days.ts";
import { previewExport } from "./export.ts";

function hideRefusal(error: unknown): never {
  if (error instanceof AppError && error.code === "NOT_FOUND") notFound();
  throw error;
}

/** A row that is not there any more, or never was: the list shows without it. */
function nothing(error: unknown): null {
  if (error instanceof AppError && error.code === "NOT_FOUND") return null;
  throw error;
}

/** The figures, and what the chosen tab shows. */
export async function readControlPage(site: Pick<SiteSummary, "publicId" | "timezone" | "ociSyncMethod">, view: ControlView, now: Date) {
  const { publicId, timezone, ociSyncMethod } = site;
  const { from, to } = spanDays(view.span, timezone, now);
  const [stats, queue, days, preview] = await Promise.all([
    readPage("queue_stats", { p_public_id: publicId }, queueStats),
    view.tab === "queue" ? readQueueTab(publicId, view, now) : null,
    view.tab === "days" ? readPage("delivery_days", { p_public_id: publicId, p_from: from, p_to: to }, deliveryDays) : null,
    view.tab === "export" && ociSyncMethod === "script" ? previewExport({ member: { db: await pageClient(), publicId } }) : null,
  ]).catch(hideRefusal);
  return { stats, queue, days, preview, firstPollSeconds: firstPollSeconds() };
}

async function readQueueTab(publicId: string, view: ControlView, now: Date) {
  const asked = { p_public_id: publicId, p_max_attempts: maxAttempts() };
  const filter = { ...apiFilter(view.filter, now), sort: view.sort };
  const [page, charts, story] = await Promise.all([
    readPage("queue_rows", { ...asked, p_filter: filter, p_limit: rowsPerPage }, queueRows),
    readPage("queue_charts", { p_public_id: publicId, p_range: view.range }, queueCharts),
    view.row ? readPage("queue_row_story", { ...asked, p_id: view.row }, queueRowStory).catch(nothing) : null,
  ]);
  return { page, charts, story, of: JSON.stringify([view.filter, view.sort]) };
}

/** A few conversions that wait to be sent, the newest first: for a dry run. */
export async function readWaitingRows(publicId: string, limit: number): Promise<QueueRow[]> {
  const asked = { p_public_id: publicId, p_max_attempts: maxAttempts(), p_limit: limit };
  const pages = await Promise.all(
    ["QUEUED", "RETRY"].map((status) => readPage("queue_rows", { ...asked, p_filter: { status } }, queueRows)),
  ).catch(hideRefusal);
  return pages.flatMap(({ rows }) => rows).slice(0, limit);
}

export type ControlPage = Awaited<ReturnType<typeof readControlPage>>;
export type QueueTabData = Awaited<ReturnType<typeof readQueueTab>>;
