"use client";

import { RotateCw } from "lucide-react";
import { useTranslations } from "next-intl";
import { Button } from "#components/ui/button.tsx";
import { useNewVersion } from "#components/ui/new-version.ts";

/** A page from before a deployment cannot load its late parts any more. It needs no late part itself: its code came with the page. */
export function NewVersionNotice() {
  const t = useTranslations("newVersion");
  if (!useNewVersion()) return null;
  return (
    <div
      role="alert"
      className="fixed inset-x-2 top-2 z-99 mx-auto flex w-fit max-w-[calc(100vw-16px)] flex-wrap items-center gap-x-3 gap-y-2 rounded-lg border border-line-2 bg-surface-pop px-3.5 py-2.5 text-sm shadow-lg print:hidden"
    >
      <span>{t("here")}</span>
      <Button size="sm" tone="primary" onClick={() => window.location.reload()}>
        <RotateCw className="size-3.5" />
        {t("reload")}
      </Button>
    </div>
  );
}
