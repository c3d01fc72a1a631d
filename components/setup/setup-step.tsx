"use client";

import { Check, ChevronDown, CircleDashed } from "lucide-react";
import { useTranslations } from "next-intl";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { cn } from "#components/ui/cn.ts";
import { TimeAgo } from "#components/ui/time.tsx";
import type { SetupStep as Step } from "#lib/tenancy/site-setup.ts";

interface SetupStepProps {
  step: Step;
  place: number;
  timeZone: string;
  title: string;
  /** What was seen, or what we wait for. */
  state: ReactNode;
  /** What to do while it stays open. */
  help: string[];
  children: ReactNode;
}

/** One step: its tick, what to paste, how to test it and what to do while it stays open. A ticked one folds away, but for the test: its result and what it does not prove stay in sight. */
export function SetupStep({ step: { step, at, facts }, place, timeZone, title, state, help, children }: SetupStepProps) {
  const t = useTranslations("setup");
  const Icon = at ? Check : CircleDashed;
  const isChosen = facts.isOff || facts.isSkipped; // the owner's decision; there was nothing to see
  // It folds when it is ticked, unless the reader is in it or in a dialog of it, and opens when the tick goes; otherwise it stays as the reader
  // left it. What it holds, such as a secret, stays.
  const isTicked = at !== null;
  const [isOpen, setOpen] = useState(!isTicked || step === "test");
  const wasTicked = useRef(isTicked);
  const hasFocus = useRef(false);
  useEffect(() => {
    if (wasTicked.current === isTicked) return;
    wasTicked.current = isTicked;
    if (!isTicked) setOpen(true);
    else if (step !== "test" && !hasFocus.current) setOpen(false);
  }, [isTicked, step]);
  return (
    <li>
      <details
        open={isOpen}
        onToggle={(event) => setOpen(event.currentTarget.open)}
        onFocus={() => {
          hasFocus.current = true;
        }}
        onBlur={({ target }) => {
          hasFocus.current = document.activeElement === target; // then it is the window that was left
        }}
        id={step}
        className="group min-w-0 scroll-mt-20 rounded-lg border border-line-1 bg-surface-1 desk:scroll-mt-4"
      >
        <summary className="flex cursor-pointer list-none items-center gap-3 rounded-lg px-4 py-3 hover:bg-surface-2">
          <span
            className={cn(
              "grid size-8 shrink-0 place-items-center rounded-[8px] bg-surface-2 text-support",
              at && "bg-completed-bg text-completed",
            )}
          >
            <Icon />
          </span>
          <div className="min-w-0 flex-1">
            <h2 className="text-base">
              {t("numbered", { place, title })}
              <span className="sr-only"> {t(at ? "isDone" : "isOpen")}</span>
            </h2>
            <p className={cn("text-sm text-pretty wrap-anywhere", at ? "text-completed" : "text-meta")} aria-live="polite">
              {state}
              {at && !isChosen && (
                <>
                  {" "}
                  <TimeAgo value={at} timeZone={timeZone} />
                </>
              )}
            </p>
          </div>
          <ChevronDown className="size-4 text-meta group-open:rotate-180" />
        </summary>
        <div className="grid gap-4 border-t border-line-1 p-4">
          {children}
          {!at && help.length > 0 && (
            <div className="rounded-md bg-surface-2 p-3 text-sm">
              <h3 className="text-sm font-medium">{t("whileOpen")}</h3>
              <ul className="mt-1 grid list-disc gap-1 pl-5 text-support">
                {help.map((line) => (
                  <li key={line} className="text-pretty">
                    {line}
                  </li>
                ))}
              </ul>
            </div>
          )}
        </div>
      </details>
    </li>
  );
}
