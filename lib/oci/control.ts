import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { maxAttempts } from "#lib/delivery/limits.ts";
import type { QueueFilter } from "./control-requests.ts";
import { queueActionLog, queueCharts, queueRowStory, queueRows, queueStats } from "./control-shapes.ts";

/** What OCI Control reads. Each is one SQL function that checks the reader's role. */

/** The figures of one site, or of all sites of the reader. */
export const readQueueStats = (db: SessionClient, publicId: string | undefined) =>
  callAsUser(db, "queue_stats", publicId === undefined ? {} : { p_public_id: publicId }, queueStats);

export interface QueuePage {
  filter: QueueFilter & { sort?: "created" | "updated" };
  cursor?: string | undefined;
  limit: number;
}

export const readQueueRows = (db: SessionClient, publicId: string, { filter, cursor, limit }: QueuePage) =>
  callAsUser(
    db,
    "queue_rows",
    { p_public_id: publicId, p_filter: filter, p_limit: limit, p_max_attempts: maxAttempts(), ...(cursor && { p_cursor: cursor }) },
    queueRows,
  );

export const readQueueRowStory = (db: SessionClient, publicId: string, id: string) =>
  callAsUser(db, "queue_row_story", { p_public_id: publicId, p_id: id, p_max_attempts: maxAttempts() }, queueRowStory);

export const readQueueCharts = (db: SessionClient, publicId: string, range: string) =>
  callAsUser(db, "queue_charts", { p_public_id: publicId, p_range: range }, queueCharts);

export const readQueueActions = (db: SessionClient, publicId: string) =>
  callAsUser(db, "list_queue_actions", { p_public_id: publicId }, queueActionLog);
