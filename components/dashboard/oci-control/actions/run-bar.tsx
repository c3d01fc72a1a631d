"use client";

import { CircleX, Pause, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { Button } from "#components/ui/button.tsx";
import type { Actions } from "./use-actions.tsx";

/** How far a long action is; when it stopped, how far it got, why, and the ways on: the rest of it, back, or leave it so. */
export function RunBar({ actions }: { actions: Actions }) {
  const t = useTranslations("oci.actions");
  const format = useControlFormat();
  const errorText = useErrorText();
  const { run } = actions;
  // One request is over before a bar could be read: it says so by itself.
  if (!run || (run.state === "running" && run.job.done === 0)) return null;
  const { job, state, code } = run;
  const isRunning = state === "running";
  const far = t("progressOf", { done: format.number(job.done), total: format.number(job.total) });
  return (
    <section className="bulk run" aria-label={t("progress")}>
      <div className="grow stack">
        <span className="row gap-2">
          {!isRunning && (code ? <CircleX className="i fg-failed" /> : <Pause className="i t2" />)}
          <b className="strong">{t(`doing.${job.action}`)}</b>
          <span className="t2 num">{far}</span>
        </span>
        <progress className="prog" value={job.done} max={Math.max(1, job.total)} aria-label={t("progress")} />
        <span className="xs t2" role="status">
          {isRunning
            ? t("runningHint")
            : [code && errorText(code), t("stoppedAt", { done: job.done, total: job.total })].filter(Boolean).join(" ")}
        </span>
      </div>
      <span className="row gap-2 run-deeds">
        {isRunning ? (
          <Button size="sm" onClick={actions.stop}>
            {t("stop")}
          </Button>
        ) : (
          <>
            <Button size="sm" tone="primary" onClick={actions.goOn}>
              {t("goOn")}
            </Button>
            {job.action !== "UNDO" && job.outcome.affected > 0 && (
              <Button size="sm" onClick={actions.undoRun}>
                {t("undoSome", { count: job.outcome.affected })}
              </Button>
            )}
            <Button size="sm" tone="ghost" icon aria-label={t("leaveSo")} title={t("leaveSo")} onClick={actions.leaveRun}>
              <X className="i" />
            </Button>
          </>
        )}
      </span>
    </section>
  );
}
