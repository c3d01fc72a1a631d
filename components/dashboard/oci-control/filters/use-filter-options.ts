"use client";

import { useTranslations } from "next-intl";
import { useControl } from "#components/dashboard/oci-control/context/control-context.tsx";
import { asLine, useCause } from "#components/delivery/use-cause.ts";
import type { QueueCharts } from "#lib/oci/control-shapes.ts";
import { type channels, type kinds, periods, statuses } from "#lib/oci/control-view.ts";
import { verdicts } from "#lib/oci/queue-types.ts";

export interface FilterOptions {
  codes: QueueCharts["failedNow"];
}

/** What each filter offers, in the reader's words. Causes are those that something failed of. */
export function useFilterOptions(codes: FilterOptions["codes"]) {
  const t = useTranslations("oci");
  const states = useTranslations("states");
  const { site } = useControl();
  const causeOf = useCause(site.ociSyncMethod);
  return {
    statuses: statuses.map((value) => ({ value, label: states(value) })),
    codes: codes.map(({ code }) => ({ value: code, label: asLine(causeOf(code).what) })),
    periods: periods.map((value) => ({ value, label: t("filters.days", { count: Number(value) }) })),
    attempts: [2, 3, 4, 5].map((count) => ({ value: String(count), label: t("filters.attemptsFrom", { count }) })),
    verdicts: verdicts.map((value) => ({ value, label: t(`verdict.words.${value}`) })),
    channel: (value: (typeof channels)[number]) => t(`channels.${value}`),
    kind: (value: (typeof kinds)[number]) => t(`kinds.${value}`),
  };
}
