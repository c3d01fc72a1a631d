import type { SessionClient } from "#lib/db/session-client.ts";
import { firstPollSeconds } from "#lib/oci/limits.ts";
import { AppError } from "#lib/platform/app-error.ts";
import { readQueueCharts } from "./charts.ts";
import { readQueueRowStory } from "./row-story.ts";
import { readQueueRows } from "./rows.ts";
import { readQueueStats } from "./stats.ts";
import { apiFilter, type ControlView } from "./view.ts";

/** What OCI Control's page shows first. A page is 50 rows; more come when asked for. */
export const rowsPerPage = 50;

/** A row that is not there any more, or never was: the list shows without it. */
function nothing(error: unknown): null {
  if (error instanceof AppError && error.code === "NOT_FOUND") return null;
  throw error;
}

export async function readControlPage(db: SessionClient, publicId: string, view: ControlView, now: Date) {
  const filter = { ...apiFilter(view.filter, now), sort: view.sort };
  const [stats, page, charts, story] = await Promise.all([
    readQueueStats(db, publicId),
    readQueueRows(db, publicId, { filter, limit: rowsPerPage }),
    readQueueCharts(db, publicId, view.range),
    view.row ? readQueueRowStory(db, publicId, view.row).catch(nothing) : null,
  ]);
  return { stats, page, charts, story, firstPollSeconds: firstPollSeconds() };
}

export type ControlPage = Awaited<ReturnType<typeof readControlPage>>;
