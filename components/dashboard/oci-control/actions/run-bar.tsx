"use client";

import { CircleX, Pause, X } from "lucide-react";
import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/control-context.tsx";
import { useErrorText } from "#components/forms/use-error-text.ts";
import { Button } from "#components/ui/button.tsx";
import { overList } from "#components/workbench/bulk-bar.tsx";

const track =
  "h-1.5 w-full appearance-none overflow-hidden rounded-[3px] border-0 bg-surface-3 [&::-moz-progress-bar]:bg-accent-mark [&::-webkit-progress-bar]:bg-surface-3 [&::-webkit-progress-value]:bg-accent-mark";

/** The progress of a long action. After a stop: how far it got, why, and the choices: continue, undo, or leave it. */
export function RunBar() {
  const t = useTranslations("oci.actions");
  const deeds = useTranslations("actions");
  const errorText = useErrorText();
  const { actions, format } = useControl();
  const { run } = actions;
  // One request is over before a bar could be read: it says so by itself.
  if (!run || (run.state === "running" && run.job.done === 0)) return null;
  const { job, state, code } = run;
  const { done, total } = job;
  const isRunning = state === "running";
  const stopped = [code && errorText(code), t("stoppedAt", { done, total })].filter(Boolean).join(" ");
  return (
    <section data-slot="run-bar" className={overList({ kind: "run" })} aria-label={t("progress")}>
      <div className="grid min-w-0 flex-1 gap-3">
        <span className="flex min-w-0 items-center gap-2">
          {!isRunning && (code ? <CircleX className="text-failed" /> : <Pause className="text-support" />)}
          <b className="font-semibold">{t(`doing.${job.action}`)}</b>
          <span className="text-right whitespace-nowrap text-support">
            {t("progressOf", { done: format.number(done), total: format.number(total) })}
          </span>
        </span>
        <progress className={track} value={done} max={Math.max(1, total)} aria-label={t("progress")} />
        <span className="text-xs text-support" role="status">
          {isRunning ? t("runningHint") : stopped}
        </span>
      </div>
      <span className="flex min-w-0 items-center gap-2 max-desk:*:not-last:flex-1">
        {isRunning ? (
          <Button size="sm" onClick={actions.stop}>
            {t("stop")}
          </Button>
        ) : (
          <>
            <Button size="sm" tone="primary" onClick={actions.goOn}>
              {deeds("continue")}
            </Button>
            {job.action !== "UNDO" && job.outcome.affected > 0 && (
              <Button size="sm" onClick={actions.undoRun}>
                {t("undoSome", { count: job.outcome.affected })}
              </Button>
            )}
            <Button size="sm" tone="ghost" icon aria-label={deeds("leave")} title={deeds("leave")} onClick={actions.leaveRun}>
              <X />
            </Button>
          </>
        )}
      </span>
    </section>
  );
}
