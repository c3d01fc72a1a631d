"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import type { ControlSite } from "#components/dashboard/oci-control/control-site.ts";
import type { SendFailure } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useToast } from "#components/ui/toast.tsx";
import { UndoLabel } from "#components/workbench/undo-label.tsx";
import type { QueueActionPreview } from "#lib/oci/queue/actions.ts";
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
type LastAction = Pick<Outcome, "actionIds" | "affected"> & { undoUntil: string };
const undoShownMs = 20_000;

/** Asks, acts, reports the result and undoes. `onChanged` lets the server draw the page again at once. */
export function useActions({ siteId }: Pick<ControlSite, "siteId">, onChanged: () => void) {
  const t = useTranslations("oci.actions");
  const toast = useToast();
  const errorText = useErrorText();
  const [question, setQuestion] = useState<Question | null>(null);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [last, setLast] = useState<LastAction | null>(null);
  const { run, start, stop, drop, isRunning } = useJob(siteId);

  /** One at a time: the bar shows the progress of one action. */
  function isBusy(): boolean {
    if (isRunning()) toast.failed(t("oneAtATime"));
    return isRunning();
  }

  async function undo(action: Pick<Outcome, "actionIds" | "affected"> | null = last): Promise<void> {
    if (!action || isBusy()) return;
    setLast(null);
    await work(undoJob(siteId, action));
  }

  function tell({ action, outcome: result }: Job, failure: SendFailure | null): void {
    if (action === "UNDO") return void toast.done(t("undone", { count: result.affected, skipped: result.skippedCount }));
    const did = t(`did.${action}`, { count: result.affected, skipped: result.skippedCount });
    const words = failure ? `${errorText(failure.code)} ${did}` : did;
    if (result.affected > 0 && result.undoUntil) {
      const taken = { ...result, undoUntil: result.undoUntil };
      setLast(taken);
      const takeBack = () => {
        toast.close(id);
        undo(taken);
      };
      const button = { label: <UndoLabel until={taken.undoUntil} />, onPress: takeBack };
      const id = failure ? toast.failed(words, button) : toast.done(words, button, undoShownMs);
    } else if (failure) toast.failed(words);
    else toast.done(words);
    if (result.skippedCount > 0) setOutcome(result);
  }

  /** Closes the question after an action: it was about the rows as they were before. */
  async function work(job: Job): Promise<void> {
    const ended = await start(job, () => setQuestion(null));
    onChanged();
    if (!ended) return;
    if (ended.failure && ended.job.outcome.actionIds.length === 0) toast.failed(errorText(ended.failure.code));
    else tell(ended.job, ended.failure);
  }

  return {
    question,
    run,
    stop,
    goOn: () => void (run && work(run.job)),
    undoRun: () => {
      if (!run) return;
      drop();
      undo(run.job.outcome);
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
    /** A retry can be taken back and loses nothing: it is done at once. The others ask first. */
    act(action: QueueAction, rows: QueueRow[]) {
      if (isBusy()) return;
      const ids = rows.map((row) => row.id);
      if (action === "RETRY_SELECTED" && rows.some((row) => row.allowedActions.includes(action)))
        return void work(actionJob(siteId, action, { ids }, {}));
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
      await work(actionJob(siteId, action, preview ? { preview } : { ids: rows.map((row) => row.id) }, choices));
    },
  };
}
export type Actions = ReturnType<typeof useActions>;
