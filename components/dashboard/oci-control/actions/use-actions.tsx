"use client";

import { useTranslations } from "next-intl";
import { useRef, useState } from "react";
import type { ControlSite } from "#components/dashboard/oci-control/control-site.ts";
import type { SendFailure } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useToast } from "#components/ui/toast.tsx";
import { useClocked } from "#components/workbench/live/clock.tsx";
import { UndoLabel } from "#components/workbench/undo-label.tsx";
import type { QueueActionPreview } from "#lib/oci/queue/actions.ts";
import type { ControlPage } from "#lib/oci/queue/page.ts";
import { rowsToTake } from "#lib/oci/queue/row-state.ts";
import type { QueueRow } from "#lib/oci/queue/rows.ts";
import type { QueueAction } from "#lib/oci/queue-types.ts";
import { actionJob, askPreview, type Choices, type Job, type Outcome, undoJob } from "./job.ts";
import { useJob } from "./use-job.ts";

/** A question before an action: which rows, and, for everything that matches, what a preview says. */
export interface Question {
  action: QueueAction;
  rows: QueueRow[];
  preview: QueueActionPreview | null;
}
type Taken = Pick<Outcome, "actionIds" | "affected">;
/** An action that can be undone. */
export interface LastAction extends Taken {
  action: QueueAction;
  undoUntil: string;
}
const undoShownMs = 20_000;

/** What the server knows of the reader's last action: it outlives the page. */
function keptAction(last: ControlPage["last"]): LastAction | null {
  if (!last || last.action === "UNDO" || last.undoUntil === null) return null;
  return { action: last.action, actionIds: [last.actionId], affected: last.affected, undoUntil: last.undoUntil };
}

/** What a job leaves that can be undone. */
function takenBy({ action, outcome }: Pick<Job, "action" | "outcome">): LastAction | null {
  if (action === "UNDO" || outcome.affected === 0 || outcome.undoUntil === null) return null;
  return { ...outcome, action, undoUntil: outcome.undoUntil };
}

interface Options {
  site: Pick<ControlSite, "siteId" | "ociSyncMethod">;
  kept: ControlPage["last"];
  /** Lets the server draw the page again at once. */
  onChanged: () => void;
}

/** Asks, acts, reports the result and undoes. */
export function useActions({ site: { siteId, ociSyncMethod }, kept, onChanged }: Options) {
  const t = useTranslations("oci.actions");
  const toast = useToast();
  const errorText = useErrorText();
  const [question, setQuestion] = useState<Question | null>(null);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [acted, setActed] = useState<LastAction | null>(null);
  const [undone, setUndone] = useState<ReadonlySet<string>>(new Set());
  const last = [acted, keptAction(kept)].find((action) => action && !action.actionIds.some((id) => undone.has(id))) ?? null;
  const clocked = useClocked();
  const offer = useRef<string | null>(null);
  const { run, start, stop, drop, isRunning } = useJob(siteId);

  /** One at a time: the bar shows the progress of one action. */
  function isBusy(): boolean {
    if (isRunning()) toast.failed(t("oneAtATime"));
    return isRunning();
  }

  async function undo(action: Taken | null = last): Promise<void> {
    if (!action || isBusy()) return;
    const { actionIds } = action;
    setUndone((before) => new Set([...before, ...actionIds]));
    if (offer.current) toast.close(offer.current);
    // Refused: it is offered again.
    if (!(await work(undoJob(siteId, action)))) setUndone((before) => new Set([...before].filter((id) => !actionIds.includes(id))));
  }

  function tell({ action, outcome: result }: Job, failure: SendFailure | null): void {
    if (action === "UNDO") return void toast.done(t("undone", { count: result.affected, skipped: result.skippedCount }));
    const did = t(`did.${action}`, { count: result.affected, skipped: result.skippedCount });
    const words = failure ? `${errorText(failure.code)} ${did}` : did;
    const taken = takenBy({ action, outcome: result });
    if (taken) {
      setActed(taken);
      const label = clocked(<UndoLabel what={t(`undo.${action}`, { count: taken.affected })} until={taken.undoUntil} />);
      const button = { label, onPress: () => void undo(taken) };
      offer.current = failure ? toast.failed(words, button) : toast.done(words, button, undoShownMs);
    } else if (failure) toast.failed(words);
    else toast.done(words);
    if (result.skippedCount > 0) setOutcome(result);
  }

  /** Closes the question after an action: it was about the rows as they were before. False: nothing was done. */
  async function work(job: Job): Promise<boolean> {
    const ended = await start(job, () => setQuestion(null));
    onChanged();
    if (!ended) return true;
    const isDone = ended.job.outcome.actionIds.length > 0;
    if (ended.failure && !isDone) toast.failed(errorText(ended.failure.code));
    else tell(ended.job, ended.failure);
    return isDone;
  }

  return {
    question,
    run,
    stop,
    goOn: () => void (run && work(run.job)),
    undoRun: () => {
      if (!run) return;
      drop();
      setActed(takenBy(run.job));
      void undo(run.job.outcome);
    },
    leaveRun: () => {
      if (!run) return;
      drop();
      tell(run.job, null);
    },
    outcome,
    last,
    undo: () => undo(),
    closeOutcome: () => setOutcome(null),
    cancel: () => setQuestion(null),
    /** A retry of one row can be undone and loses nothing: it is done at once. A selection and the other actions ask first. */
    act(action: QueueAction, rows: QueueRow[], asksFirst = false) {
      if (isBusy()) return;
      const [row] = rows;
      if (action === "RETRY_SELECTED" && !asksFirst && row?.allowedActions.includes(action))
        return void work(actionJob(siteId, action, { ids: [row.id] }, {}));
      setQuestion({ action, rows, preview: null });
    },
    /** Sends a row by API that waits for a person. The dialog has said what that risks. */
    tryApi(row: QueueRow) {
      if (!isBusy()) void work(actionJob(siteId, "RETRY_SELECTED", { ids: [row.id] }, { overApi: true }));
    },
    async actOnMatching(action: QueueAction, filter: Record<string, string>) {
      if (isBusy()) return;
      const preview = await askPreview(siteId, action, filter);
      if ("ok" in preview) toast.failed(errorText(preview.code));
      else setQuestion({ action, rows: [], preview });
    },
    async confirm(choices: Choices): Promise<void> {
      if (!question || isBusy()) return;
      const { action, preview, rows } = question;
      const target = preview ? { preview } : { ids: rowsToTake(action, rows, ociSyncMethod).map((row) => row.id) };
      await work(actionJob(siteId, action, target, choices));
    },
  };
}
export type Actions = ReturnType<typeof useActions>;
