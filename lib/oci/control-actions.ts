import type { z } from "zod";
import { onceAnswer, type RequestIdentity } from "#lib/contracts/answer-once.ts";
import { callAsUser, type SessionClient } from "#lib/db/session-client.ts";
import { maxAttempts } from "#lib/delivery/limits.ts";
import type { QueueActionRequest, queuePreviewRequest } from "./control-requests.ts";
import { queueActionPreview } from "./control-shapes.ts";

/** What operators do with rows of the queue. SQL checks the role, decides row by row, and answers once per key. */

export const actOnQueue = (db: SessionClient, { siteId, ...action }: QueueActionRequest, once: RequestIdentity) =>
  callAsUser(db, "act_on_queue", { p_public_id: siteId, p_action: action, ...once }, onceAnswer);

export const undoQueueAction = (db: SessionClient, siteId: string, actionId: string, once: RequestIdentity) =>
  callAsUser(db, "undo_queue_action", { p_public_id: siteId, p_undo: { actionId }, ...once }, onceAnswer);

export const previewQueueAction = (db: SessionClient, { siteId, action, filter }: z.output<typeof queuePreviewRequest>) =>
  callAsUser(
    db,
    "preview_queue_action",
    { p_public_id: siteId, p_action: action, p_filter: filter, p_max_attempts: maxAttempts() },
    queueActionPreview,
  );
