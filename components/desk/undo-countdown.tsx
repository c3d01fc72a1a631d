"use client";

import { useTranslations } from "next-intl";
import type { DeskFormat } from "#lib/i18n/desk-format.ts";
import { useNow } from "./desk-clock.tsx";

/** "Undo 9:48", second by second. A screen reader hears it once, not sixty times a minute. */
export function UndoCountdown({ until, format }: { until: string; format: DeskFormat }) {
  const t = useTranslations("desk.seal");
  const now = useNow(1000);
  return <>{t("undo", { time: format.countdown(Date.parse(until) - now.getTime()) })}</>;
}
