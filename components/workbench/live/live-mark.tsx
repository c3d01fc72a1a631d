"use client";

import { useLocale, useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import { cn } from "#components/ui/cn.ts";
import { LiveMark as Mark } from "#components/ui/live-mark.tsx";
import { shortLength } from "#lib/i18n/short-time.ts";
import { type LiveOptions, useLive } from "./use-live.ts";
import { useOffline } from "./use-offline.ts";

/** After three missed reads the page may be out of date. */
const staleMs = 15_000;

/** Keeps the page up to date, and says how fresh it is. */
export function LiveMark(options: LiveOptions) {
  const t = useTranslations("workbench.live");
  const locale = useLocale();
  const heardAtMs = useLive(options);
  const isOffline = useOffline();
  const [nowMs, setNowMs] = useState<number | null>(null);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const ageMs = heardAtMs === null || nowMs === null ? 0 : Math.max(0, nowMs - heardAtMs);
  const isStale = isOffline || ageMs > staleMs;
  const age = shortLength(locale, ageMs / 1000);
  return (
    <Mark
      data-live
      stale={isStale}
      role={isStale ? "status" : undefined}
      className={cn("shrink-0 whitespace-nowrap", isStale && "text-retry")}
    >
      {isOffline ? t("offline") : isStale ? t("stale", { age }) : heardAtMs === null ? t("now") : t("fresh", { age })}
    </Mark>
  );
}
