"use client";

import { useTranslations } from "next-intl";
import { type FormEvent, useState } from "react";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { useBackCloses } from "#components/history/use-back-closes.ts";
import { Button } from "#components/ui/button.tsx";
import { Checkbox } from "#components/ui/checkbox.tsx";
import { Dialog, DialogClose, DialogFoot } from "#components/ui/dialog.tsx";
import { Field } from "#components/ui/field.tsx";
import { Textarea } from "#components/ui/input.tsx";
import { SubmitButton } from "#components/ui/submit-button.tsx";
import type { QueueActionPreview } from "#lib/oci/queue/actions.ts";
import { isByHand, isUnfixable, rowsToTake, sumByCurrency } from "#lib/oci/queue/row-state.ts";
import { shortOrder } from "#lib/oci/short-order.ts";
import { CountList } from "./count-list.tsx";
import type { Question } from "./use-actions.tsx";

/** Says what will happen in numbers and money, and only then does it. */
export function ActionDialog() {
  const t = useTranslations("oci.actions.ask");
  const { actions } = useControl();
  const { question } = actions;
  const isRunning = actions.run?.state === "running";
  const leave = () => !isRunning && actions.cancel();
  useBackCloses(question !== null, leave);
  // Kept while it closes, so that it does not go blank on its way out.
  const [shown, setShown] = useState<Question | null>(null);
  if (question && question !== shown) setShown(question);
  const factsOf = useFactsOf();
  return (
    <Dialog
      open={question !== null}
      onOpenChange={(open) => !open && leave()}
      guarded={isRunning}
      title={shown && t(shown.action, { count: factsOf(shown).count })}
    >
      {shown && <QuestionForm key={shown.action + (shown.preview?.previewId ?? "")} question={shown} isRunning={isRunning} />}
    </Dialog>
  );
}

/** What a preview counts by reason; of ticked rows, how many stay because a person makes them, and how many for their state. */
function useFactsOf() {
  const { site } = useControl();
  return ({ action, rows, preview }: Question) => {
    if (preview) return { count: preview.count, cents: preview.valueCents, skipped: 0, byHand: 0, unfixable: 0 };
    const method = site.ociSyncMethod;
    const eligible = rowsToTake(action, rows, method).filter((row) => row.allowedActions.includes(action));
    const byHand = action === "MARK_FAILED" ? 0 : rows.filter((row) => isByHand(row, method)).length;
    const unfixable = action === "RETRY_SELECTED" ? rows.filter((row) => isUnfixable(row, method)).length : 0;
    const skipped = rows.length - eligible.length - byHand - unfixable;
    return { count: eligible.length, cents: sumByCurrency(eligible), skipped, byHand, unfixable };
  };
}

function QuestionForm({ question, isRunning }: { question: Question; isRunning: boolean }) {
  const t = useTranslations("oci.actions");
  const word = useTranslations();
  const { actions, format } = useControl();
  const { action, preview } = question;
  const { count, cents, skipped, byHand, unfixable } = useFactsOf()(question);
  const [reason, setReason] = useState("");
  const [isMissing, setMissing] = useState(false);
  const [clearErrors, setClearErrors] = useState(false);
  const isFailing = action === "MARK_FAILED";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const given = reason.trim();
    if (isFailing && !given) return setMissing(true);
    actions.confirm({ ...(given && { reason: given }), ...(action === "RESET_TO_QUEUED" && { clearErrors }) });
  };
  return (
    <form className="grid gap-4" onSubmit={submit}>
      <p className="text-sm text-support">{t(`effect.${action}`, { count, money: format.sums(cents) })}</p>
      {skipped > 0 && <p className="text-sm text-support">{t("someSkipped", { count: skipped })}</p>}
      {unfixable > 0 && <p className="text-sm text-support">{t("someUnfixable", { count: unfixable })}</p>}
      {byHand > 0 && <p className="text-sm text-support">{t("someByHand", { count: byHand })}</p>}
      {preview && <PreviewFacts preview={preview} />}
      {isFailing && (
        <Field label={word("labels.reason")} hint={t("reasonHint")} error={isMissing ? t("reasonMissing") : undefined}>
          {(control) => <Textarea {...control} maxLength={500} value={reason} onChange={(event) => setReason(event.target.value)} />}
        </Field>
      )}
      {action === "RESET_TO_QUEUED" && (
        <Checkbox checked={clearErrors} onChange={(event) => setClearErrors(event.target.checked)}>
          {t("clearErrors")}
        </Checkbox>
      )}
      <DialogFoot>
        <DialogClose render={<Button disabled={isRunning} />}>{word("actions.cancel")}</DialogClose>
        <SubmitButton tone={isFailing ? "destroy" : "primary"} pending={isRunning} disabled={count === 0}>
          {t(`do.${action}`, { count })}
        </SubmitButton>
      </DialogFoot>
    </form>
  );
}

/** What a preview found: where the rows stand now, which stay as they are and why, and the first few by name. */
function PreviewFacts({ preview: { byStatus, ineligible, sample, truncated, count } }: { preview: QueueActionPreview }) {
  const t = useTranslations("oci.actions");
  const states = useTranslations("states");
  const { format } = useControl();
  const lines = [
    ...Object.entries(byStatus).map(([status, found]) => [states(status as keyof typeof byStatus), found] as const),
    ...Object.entries(ineligible).map(([reason, found]) => [t(`skipped.${reason as keyof typeof ineligible}`), found] as const),
  ];
  return (
    <>
      <CountList lines={lines.map(([name, found]) => ({ key: name, name, value: format.number(found) }))}>
        {sample.length > 0 && (
          <li className="text-xs text-meta">{t("sample", { orders: sample.map((row) => shortOrder(row.orderId)).join(", ") })}</li>
        )}
      </CountList>
      {truncated && <p className="text-sm text-support">{t("truncated", { count: format.number(count) })}</p>}
      <p className="text-xs text-meta">{t("frozen")}</p>
    </>
  );
}
