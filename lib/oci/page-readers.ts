import "server-only";
import { notFound } from "next/navigation";
import { readPage } from "#lib/auth/session.ts";
import { firstPollSeconds, maxAttempts } from "#lib/delivery/limits.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { type QueueRow, queueCharts, queueRowStory, queueRows, queueStats } from "./control-shapes.ts";
import { apiFilter, type ControlView } from "./control-view.ts";

/** What OCI Control's page shows before anything is live. A page is 50 rows; more come when asked for. */
export const rowsPerPage = 50;

function hideRefusal(error: unknown): never {
  if (error instanceof AppError && error.code === "NOT_FOUND") notFound();
  throw error;
}

/** A row that is not there any more, or never was: the list shows without it. */
function nothing(error: unknown): null {
  if (error instanceof AppError && error.code === "NOT_FOUND") return null;
  throw error;
}

export async function readControlPage(publicId: string, view: ControlView, now: Date) {
  const filter = { ...apiFilter(view.filter, now), sort: view.sort };
  const asked = { p_public_id: publicId, p_max_attempts: maxAttempts() };
  const [stats, page, charts, story] = await Promise.all([
    readPage("queue_stats", { p_public_id: publicId }, queueStats),
    readPage("queue_rows", { ...asked, p_filter: filter, p_limit: rowsPerPage }, queueRows),
    readPage("queue_charts", { p_public_id: publicId, p_range: view.range }, queueCharts),
    view.row ? readPage("queue_row_story", { ...asked, p_id: view.row }, queueRowStory).catch(nothing) : null,
  ]).catch(hideRefusal);
  return { stats, page, charts, story, firstPollSeconds: firstPollSeconds() };
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
