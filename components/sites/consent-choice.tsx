"use client";

import { useTranslations } from "next-intl";
import { useId } from "react";
import { Choice, Choices } from "#components/ui/choice.tsx";
import type { consentModes } from "#lib/site.ts";

const modes = ["required", "off"] as const satisfies readonly (typeof consentModes)[number][];

/** Whether visitors are asked before anything is stored. A new site's owner decides it: neither answer is chosen for them. */
export function ConsentChoice({ error }: { error?: string | undefined }) {
  const t = useTranslations("newSite");
  const id = useId();
  return (
    <Choices aria-describedby={error ? `${id}-error` : `${id}-hint`}>
      <legend className="mb-1.5 text-sm font-medium">{t("consent")}</legend>
      {modes.map((mode) => (
        <Choice
          key={mode}
          name="consentMode"
          value={mode}
          aria-invalid={Boolean(error)}
          aria-describedby={`${id}-${mode}`}
          className="items-start"
        >
          <span className="grid gap-0.5">
            <span>{t(`consentModes.${mode}.name`)}</span>
            <span id={`${id}-${mode}`} className="text-xs font-normal text-pretty text-meta">
              {t(`consentModes.${mode}.means`)}
            </span>
          </span>
        </Choice>
      ))}
      {error ? (
        <p id={`${id}-error`} className="col-span-full text-sm text-failed" role="alert">
          {error}
        </p>
      ) : (
        <p id={`${id}-hint`} className="col-span-full text-xs text-pretty text-meta">
          {t("consentHint")}
        </p>
      )}
    </Choices>
  );
}
