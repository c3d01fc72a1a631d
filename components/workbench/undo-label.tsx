"use client";

import { useTranslations } from "next-intl";
import { useNow } from "./live/clock.tsx";

/** "Undo 9:48", second by second. */
export function UndoLabel({ until }: { until: string }) {
  const t = useTranslations("workbench");
  const seconds = Math.max(0, Math.ceil((Date.parse(until) - useNow(1000).getTime()) / 1000));
  return (
    <span suppressHydrationWarning>{t("undo", { time: `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}` })}</span>
  );
}
