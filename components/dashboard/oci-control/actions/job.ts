import { type SendFailure, sendJson } from "#components/forms/send-json.ts";
import type { QueueActionAnswer, QueueActionPreview } from "#lib/oci/queue/actions.ts";
import type { QueueAction } from "#lib/oci/queue-types.ts";
import type { SiteId } from "#lib/site.ts";

export interface Choices {
  reason?: string;
  clearErrors?: boolean;
  /** Also sends rows that wait for a person. */
  overApi?: boolean;
}

export type Target = { ids: string[] } | { preview: Pick<QueueActionPreview, "previewId" | "digest" | "count"> };

/** The result of an action; several parts when more rows were ticked than one request takes. */
export interface Outcome {
  actionIds: string[];
  affected: number;
  skipped: QueueActionAnswer["skipped"];
  skippedCount: number;
  undoUntil: string | null;
}

/** An action that takes several requests. It can stop between two of them and be resumed, here or after a reload. */
export interface Job {
  action: QueueAction | "UNDO";
  /** What is still to be asked; the first one may be half done, and the server knows how far it is. */
  steps: { url: string; body: Record<string, unknown> }[];
  done: number;
  total: number;
  outcome: Outcome;
  /** The counts before the first of the steps: an answer counts for the whole step. */
  before: { done: number; outcome: Outcome };
}

const idsMax = 1000;
/** Skipped rows that are listed by name; the rest is counted. */
const listedMax = 200;

function newJob(action: Job["action"], steps: Job["steps"], total: number): Job {
  const outcome: Outcome = { actionIds: [], affected: 0, skipped: [], skippedCount: 0, undoUntil: null };
  return { action, steps, done: 0, total, outcome, before: { done: 0, outcome } };
}

export function actionJob(siteId: SiteId, action: QueueAction, target: Target, choices: Choices): Job {
  const url = "/api/oci/queue-actions";
  const same = { siteId, action, ...choices };
  if ("preview" in target) {
    const { previewId, digest, count } = target.preview;
    return newJob(action, [{ url, body: { ...same, previewId, digest } }], count);
  }
  const { ids } = target;
  const parts = Array.from({ length: Math.ceil(ids.length / idsMax) }, (_, part) => ids.slice(part * idsMax, (part + 1) * idsMax));
  return newJob(
    action,
    parts.map((part) => ({ url, body: { ...same, ids: part } })),
    ids.length,
  );
}

/** Undoes an action, its last part first, for rows that have not changed since. */
export function undoJob(siteId: SiteId, { actionIds, affected }: Pick<Outcome, "actionIds" | "affected">): Job {
  const steps = actionIds.toReversed().map((id) => ({ url: `/api/oci/queue-actions/${id}/undo`, body: { siteId } }));
  return newJob("UNDO", steps, affected);
}

/** A lost answer is asked for again under the same key, so nothing is done twice. */
async function sendOnce(url: string, body: unknown) {
  const key = crypto.randomUUID();
  const first = await sendJson("POST", url, body, key);
  return first.ok || first.code !== "OFFLINE" ? first : sendJson("POST", url, body, key);
}

function withAnswer(job: Job, answer: QueueActionAnswer): Job {
  const { before, steps } = job;
  const outcome: Outcome = {
    actionIds: [...before.outcome.actionIds, answer.actionId],
    affected: before.outcome.affected + answer.affected,
    skippedCount: before.outcome.skippedCount + answer.skippedCount,
    skipped: [...job.outcome.skipped, ...answer.skipped].slice(0, listedMax),
    undoUntil: answer.undoUntil ?? job.outcome.undoUntil,
  };
  const done = before.done + answer.done;
  const [step, ...later] = steps;
  if (answer.cursor && step)
    return { ...job, steps: [{ ...step, body: { ...step.body, cursor: answer.cursor } }, ...later], done, outcome };
  return { ...job, steps: later, done, outcome, before: { done, outcome } };
}

interface Hooks {
  onProgress: (job: Job) => void;
  isStopped: () => boolean;
}

/** Sends one request after the other until nothing is left, somebody stops it, or one is refused. Reports what was done. */
export async function advance(job: Job, { onProgress, isStopped }: Hooks): Promise<{ job: Job; failure: SendFailure | null }> {
  let current = job;
  for (let step = current.steps[0]; step && !isStopped(); step = current.steps[0]) {
    const sent = await sendOnce(step.url, step.body);
    if (!sent.ok) return { job: current, failure: sent };
    current = withAnswer(current, sent.value as QueueActionAnswer); // the route's own shape
    onProgress(current);
  }
  return { job: current, failure: null };
}

export async function askPreview(
  siteId: SiteId,
  action: QueueAction,
  filter: Record<string, string>,
): Promise<QueueActionPreview | SendFailure> {
  const sent = await sendJson("POST", "/api/oci/queue-actions/preview", { siteId, action, filter });
  return sent.ok ? (sent.value as QueueActionPreview) : sent; // the route's own shape
}
