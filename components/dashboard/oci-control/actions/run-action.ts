import { type SendFailure, sendJson } from "#components/forms/send-json.ts";
import type { QueueAction, QueueActionAnswer, QueueActionPreview } from "#lib/oci/control-shapes.ts";

export interface Choices {
  reason?: string;
  clearErrors?: boolean;
}

export type Target = { ids: string[] } | { preview: Pick<QueueActionPreview, "previewId" | "digest"> };

/** What became of an action; several parts when more rows were ticked than one request takes. */
export interface Outcome {
  actionIds: string[];
  affected: number;
  skipped: QueueActionAnswer["skipped"];
  skippedCount: number;
  undoUntil: string | null;
}

interface Run {
  siteId: string;
  action: QueueAction;
  target: Target;
  choices: Choices;
  onProgress: (done: number, total: number) => void;
}

const idsMax = 1000;
/** Skipped rows that are listed by name; the rest is counted. */
const listedMax = 200;

/** A lost answer is asked for again under the same key, so nothing is done twice. */
async function sendOnce(url: string, body: unknown) {
  const key = crypto.randomUUID();
  const first = await sendJson("POST", url, body, key);
  return first.ok || first.code !== "OFFLINE" ? first : sendJson("POST", url, body, key);
}

/** One request after the other until the server says that nothing is left. */
async function repeat(
  url: string,
  body: Record<string, unknown>,
  onAnswer: (answer: QueueActionAnswer) => void,
): Promise<SendFailure | null> {
  let cursor: string | null = null;
  do {
    const sent = await sendOnce(url, { ...body, ...(cursor && { cursor }) });
    if (!sent.ok) return sent;
    const answer = sent.value as QueueActionAnswer; // the route's own shape
    onAnswer(answer);
    cursor = answer.cursor;
  } while (cursor);
  return null;
}

function bodies({ siteId, action, target, choices }: Run): Record<string, unknown>[] {
  const same = { siteId, action, ...choices };
  if ("preview" in target) return [{ ...same, previewId: target.preview.previewId, digest: target.preview.digest }];
  const parts = Math.ceil(target.ids.length / idsMax);
  return Array.from({ length: parts }, (_, part) => ({ ...same, ids: target.ids.slice(part * idsMax, (part + 1) * idsMax) }));
}

/** A failure midway does not take back what was done before it: both are told. */
export async function runAction(run: Run): Promise<{ outcome: Outcome; failure: SendFailure | null }> {
  const outcome: Outcome = { actionIds: [], affected: 0, skipped: [], skippedCount: 0, undoUntil: null };
  for (const body of bodies(run)) {
    const before = { ...outcome };
    const failure = await repeat("/api/oci/queue-actions", body, (answer) => {
      outcome.affected = before.affected + answer.affected;
      outcome.skippedCount = before.skippedCount + answer.skippedCount;
      outcome.skipped = [...outcome.skipped, ...answer.skipped].slice(0, listedMax);
      outcome.undoUntil = answer.undoUntil ?? outcome.undoUntil;
      outcome.actionIds = [...before.actionIds, answer.actionId];
      run.onProgress(answer.done, answer.total);
    });
    if (failure) return { outcome, failure };
  }
  return { outcome, failure: null };
}

/** Takes an action back, as far as nobody touched its rows since. */
export async function runUndo(
  siteId: string,
  actionIds: string[],
): Promise<{ ok: true; affected: number; skippedCount: number } | SendFailure> {
  let affected = 0;
  let skippedCount = 0;
  for (const actionId of [...actionIds].reverse()) {
    let part = { affected: 0, skippedCount: 0 };
    const failure = await repeat(`/api/oci/queue-actions/${actionId}/undo`, { siteId }, (answer) => {
      part = answer;
    });
    if (failure) return failure;
    affected += part.affected;
    skippedCount += part.skippedCount;
  }
  return { ok: true, affected, skippedCount };
}

export async function askPreview(
  siteId: string,
  action: QueueAction,
  filter: Record<string, string>,
): Promise<QueueActionPreview | SendFailure> {
  const sent = await sendJson("POST", "/api/oci/queue-actions/preview", { siteId, action, filter });
  return sent.ok ? (sent.value as QueueActionPreview) : sent; // the route's own shape
}
