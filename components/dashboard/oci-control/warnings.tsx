"use client";

import { useTranslations } from "next-intl";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { useCause } from "#components/dashboard/oci-control/context/use-cause.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Button, ButtonLink } from "#components/ui/button.tsx";
import type { QueueStats } from "#lib/oci/control-shapes.ts";
import type { ViewFilter } from "#lib/oci/control-view.ts";
import { rightlyNotSent } from "#lib/oci/needs-person.ts";

/** Above this share of failures something is wrong that will not pass by itself. */
const alarmingShare = 0.2;

/** What an operator must know before anything else: sending is paused, rows are stuck, too much fails. The most urgent one only. */
export function Warnings({ stats, onFilter }: { stats: QueueStats; onFilter: (filter: ViewFilter) => void }) {
  const t = useTranslations("oci.warnings");
  const format = useControlFormat();
  const { site } = useControl();
  const causeOf = useCause();
  const { failedRatio, mainCause, stuckProcessing, totals } = stats;
  const paused = stats.perProvider.find(({ blocked }) => blocked);
  if (paused?.blocked) {
    const waiting = paused.totals.QUEUED + paused.totals.RETRY;
    const reconnect = site.role === "owner" && (
      <ButtonLink tone="primary" href={`/dashboard/site/${site.publicId}/connections`}>
        {t("reconnect")}
      </ButtonLink>
    );
    return (
      <Alert tone="blocked" title={t("paused", { time: format.moment(paused.blocked.since) })} action={reconnect}>
        {t("pausedBody", { count: waiting, money: format.sums(paused.valueWaitingCents) })}
      </Alert>
    );
  }
  if (failedRatio !== null && failedRatio > alarmingShare && mainCause) {
    const { what, fix } = causeOf(mainCause.code);
    return (
      <Alert
        tone="failed"
        title={t("failing", { share: format.percent(failedRatio), count: totals.FAILED - rightlyNotSent(stats) })}
        action={
          <Button onClick={() => onFilter({ status: "FAILED", errorCode: mainCause.code })}>{t("show", { count: mainCause.count })}</Button>
        }
      >
        {t("failingBody", { count: mainCause.count, what, fix })}
      </Alert>
    );
  }
  if (stuckProcessing > 0) {
    return (
      <Alert
        tone="retry"
        title={t("stuck", { count: stuckProcessing })}
        action={<Button onClick={() => onFilter({ stuck: "true" })}>{t("showStuck")}</Button>}
      >
        {t("stuckBody")}
      </Alert>
    );
  }
  return null;
}
