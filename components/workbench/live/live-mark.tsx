"use client";

import { useLocale, useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import { ButtonAnchor } from "#components/ui/button.tsx";
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
  const { heardAtMs, isSignedOut } = useLive(options);
  const isOffline = useOffline();
  const [nowMs, setNowMs] = useState<number | null>(null);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const ageMs = heardAtMs === null || nowMs === null ? 0 : Math.max(0, nowMs - heardAtMs);
  const isStale = isOffline || ageMs > staleMs;
  const age = shortLength(locale, ageMs / 1000);
  if (isSignedOut)
    return (
      <span className="flex items-center gap-2" role="status">
        <Mark stale data-live className="text-retry">
          {t("signedOut")}
        </Mark>
        {/* A whole new page: what this one holds is of the session that ended. */}
        <ButtonAnchor
          size="sm"
          tone="primary"
          href={`/sign-in?next=${encodeURIComponent(window.location.pathname + window.location.search)}`}
        >
          {t("signIn")}
        </ButtonAnchor>
      </span>
    );
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
