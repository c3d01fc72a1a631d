"use client";

import { useTranslations } from "next-intl";
import { useNow } from "#components/dashboard/oci-control/live/use-now.ts";

/** "Undo 9:48", counting down. */
export function UndoLabel({ until }: { until: string }) {
  const t = useTranslations("oci.actions");
  const seconds = Math.max(0, Math.floor((Date.parse(until) - useNow(new Date().toISOString(), 1000).getTime()) / 1000));
  const left = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return (
    <>
      {t("undo")}
      <span className="t3" suppressHydrationWarning>
        {left}
      </span>
    </>
  );
}
