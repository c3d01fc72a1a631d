"use client";

import { useTranslations } from "next-intl";
import { useState } from "react";
import type { SendFailure } from "#components/forms/send-json.ts";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { useToast } from "#components/ui/toast.tsx";
import type { QueueAction, QueueActionPreview, QueueRow } from "#lib/oci/control-shapes.ts";
import { canTake } from "#lib/oci/row-state.ts";
import { askPreview, type Choices, type Outcome, runAction, runUndo, type Target } from "./run-action.ts";
import { UndoLabel } from "./undo-label.tsx";

/** A question before an action: which rows, and, for everything that matches, what a preview says. */
export interface Question {
  action: QueueAction;
  rows: QueueRow[];
  preview: QueueActionPreview | null;
}
interface LastAction {
  actionIds: string[];
  undoUntil: string;
}
const undoShownMs = 20_000;

/** Asks, does, tells, and takes back. `onChanged` lets the page look at once instead of at its next turn. */
export function useActions(siteId: string, onChanged: () => void) {
  const t = useTranslations("oci.actions");
  const toast = useToast();
  const errorText = useErrorText();
  const [question, setQuestion] = useState<Question | null>(null);
  const [progress, setProgress] = useState<{ done: number; total: number } | null>(null);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const [last, setLast] = useState<LastAction | null>(null);

  async function undo(action: LastAction | null = last): Promise<void> {
    if (!action) return;
    setLast(null);
    const result = await runUndo(siteId, action.actionIds);
    if (!result.ok) toast.failed(errorText(result.code));
    else toast.done(t("undone", { count: result.affected, skipped: result.skippedCount }));
    onChanged();
  }

  function tell(action: QueueAction, result: Outcome, failure: SendFailure | null): void {
    const did = t(`did.${action}`, { count: result.affected, skipped: result.skippedCount });
    const words = failure ? `${errorText(failure.code)} ${did}` : did;
    if (result.affected > 0 && result.undoUntil) {
      const taken = { actionIds: result.actionIds, undoUntil: result.undoUntil };
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

  /** Whether anything was done: then the question, which was about the rows as they were, is answered. */
  async function run(action: QueueAction, target: Target, choices: Choices = {}): Promise<boolean> {
    setProgress({ done: 0, total: "ids" in target ? target.ids.length : 0 });
    const { outcome: result, failure } = await runAction({
      siteId,
      action,
      target,
      choices,
      onProgress: (done, total) => setProgress({ done, total }),
    });
    setProgress(null);
    const isBegun = result.actionIds.length > 0;
    if (failure && !isBegun) toast.failed(errorText(failure.code));
    else tell(action, result, failure);
    onChanged();
    return isBegun || !failure;
  }

  return {
    question,
    progress,
    outcome,
    last,
    undo: () => undo(),
    closeOutcome: () => setOutcome(null),
    cancel: () => setQuestion(null),
    /** A retry can be taken back and loses nothing: it is done at once. The others ask first. */
    act(action: QueueAction, rows: QueueRow[]) {
      const eligible = rows.filter((row) => canTake(action, row));
      if (action === "RETRY_SELECTED" && eligible.length > 0) return void run(action, { ids: rows.map((row) => row.id) });
      setQuestion({ action, rows, preview: null });
    },
    async actOnMatching(action: QueueAction, filter: Record<string, string>) {
      const preview = await askPreview(siteId, action, filter);
      if ("ok" in preview) toast.failed(errorText(preview.code));
      else setQuestion({ action, rows: [], preview });
    },
    async confirm(choices: Choices): Promise<void> {
      if (!question || progress) return;
      const { action, preview, rows } = question;
      if (await run(action, preview ? { preview } : { ids: rows.map((row) => row.id) }, choices)) setQuestion(null);
    },
  };
}
export type Actions = ReturnType<typeof useActions>;
