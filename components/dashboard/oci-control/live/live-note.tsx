"use client";

import { useTranslations } from "next-intl";
import { useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { useNow } from "./use-now.ts";

/** Three looks missed: what stands here may not be true any more. */
const staleAfterSeconds = 15;

/** How old the figures are: "Live, 2 s ago", or since when nothing new is known. */
export function LiveNote({ freshAt }: { freshAt: string }) {
  const t = useTranslations("oci.live");
  const format = useControlFormat();
  const seconds = (useNow(freshAt, 1000).getTime() - Date.parse(freshAt)) / 1000;
  const stale = seconds > staleAfterSeconds;
  return (
    <span className={stale ? "live stale" : "live"} role={stale ? "status" : undefined}>
      {stale ? t("stale", { time: format.moment(freshAt) }) : t("fresh", { ago: format.length(Math.max(0, seconds)) })}
    </span>
  );
}
