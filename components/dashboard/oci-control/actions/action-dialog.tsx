"use client";

import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Button } from "#components/ui/button.tsx";
import { Checkbox } from "#components/ui/checkbox.tsx";
import { Dialog, DialogClose } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Textarea } from "#components/ui/input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import { canTake, isByHand, sumByCurrency } from "#lib/oci/queue/row-state.ts";
import { PreviewFacts } from "./preview-facts.tsx";
import type { Actions, Question } from "./use-actions.tsx";

/** Says what will happen in numbers and money, and only then does it. */
export function ActionDialog({ actions }: { actions: Actions }) {
  const { question, run, cancel } = actions;
  const isRunning = run?.state === "running";
  const leave = () => !isRunning && cancel();
  useBackCloses(question !== null, leave);
  // Kept while it closes, so that it does not go blank on its way out.
  const [shown, setShown] = useState<Question | null>(null);
  if (question && question !== shown) setShown(question);
  return (
    <Dialog
      open={question !== null}
      onOpenChange={(open) => !open && leave()}
      guarded={isRunning}
      title={shown && <Title question={shown} />}
    >
      {shown && <QuestionForm key={shown.action + (shown.preview?.previewId ?? "")} question={shown} actions={actions} />}
    </Dialog>
  );
}

/** What a preview counts by reason; of ticked rows, how many stay because a person makes them, and how many for their state. */
function useFacts({ action, rows, preview }: Question) {
  const { site } = useControl();
  if (preview) return { count: preview.count, cents: preview.valueCents, skipped: 0, byHand: 0 };
  const eligible = rows.filter((row) => canTake(action, row, site.ociSyncMethod));
  const byHand = action === "MARK_FAILED" ? 0 : rows.filter((row) => isByHand(row, site.ociSyncMethod)).length;
  return { count: eligible.length, cents: sumByCurrency(eligible), skipped: rows.length - eligible.length - byHand, byHand };
}

function Title({ question }: { question: Question }) {
  const t = useTranslations("oci.actions.ask");
  return t(question.action, { count: useFacts(question).count });
}

function QuestionForm({ question, actions }: { question: Question; actions: Actions }) {
  const t = useTranslations("oci.actions");
  const format = useControlFormat();
  const { action, preview } = question;
  const { count, cents, skipped, byHand } = useFacts(question);
  const [reason, setReason] = useState("");
  const [missing, setMissing] = useState(false);
  const [clearErrors, setClearErrors] = useState(false);
  const failing = action === "MARK_FAILED";
  const isRunning = actions.run?.state === "running";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (failing && !reason.trim()) return setMissing(true);
    actions.confirm({ ...(reason.trim() && { reason: reason.trim() }), ...(action === "RESET_TO_QUEUED" && { clearErrors }) });
  };
  return (
    <form className="stack stack-4" onSubmit={submit}>
      <p className="sm t2">{t(`effect.${action}`, { count, money: format.sums(cents) })}</p>
      {skipped > 0 && <p className="sm t2">{t("someSkipped", { count: skipped })}</p>}
      {byHand > 0 && <p className="sm t2">{t("someByHand", { count: byHand })}</p>}
      {preview && <PreviewFacts preview={preview} />}
      {failing && (
        <Field label={t("reason")} hint={t("reasonHint")} error={missing ? t("reasonMissing") : undefined}>
          {(control) => <Textarea {...control} maxLength={500} value={reason} onChange={(event) => setReason(event.target.value)} />}
        </Field>
      )}
      {action === "RESET_TO_QUEUED" && (
        <Checkbox checked={clearErrors} onChange={(event) => setClearErrors(event.target.checked)}>
          {t("clearErrors")}
        </Checkbox>
      )}
      <div className="dialog-f">
        <DialogClose render={<Button disabled={isRunning} />}>{t("cancel")}</DialogClose>
        <SubmitButton tone={failing ? "destroy" : "primary"} pending={isRunning} disabled={count === 0}>
          {t(`do.${action}`, { count })}
        </SubmitButton>
      </div>
    </form>
  );
}
