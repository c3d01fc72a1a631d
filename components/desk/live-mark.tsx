"use client";

import { useTranslations } from "next-intl";
import { useEffect, useState } from "react";
import { useDesk } from "./desk-context.tsx";

const staleMs = 60_000;

/** How fresh the list is: a figure that nobody has to trust blindly. */
export function LiveMark({ heardAtMs }: { heardAtMs: number | null }) {
  const t = useTranslations("desk");
  const { isOffline } = useDesk();
  const [nowMs, setNowMs] = useState<number | null>(null);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  const ageMs = heardAtMs === null || nowMs === null ? 0 : nowMs - heardAtMs;
  if (isOffline) return <span className="live off">{t("offlineShort")}</span>;
  if (ageMs > staleMs) return <span className="live off">{t("stale", { minutes: Math.round(ageMs / 60_000) })}</span>;
  return <span className="live">{heardAtMs === null ? t("liveNow") : t("live", { seconds: Math.max(0, Math.round(ageMs / 1000)) })}</span>;
}
