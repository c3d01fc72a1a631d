"use client";

import { useTranslations } from "next-intl";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { useCause } from "#components/dashboard/oci-control/context/use-cause.ts";
import { sitePath } from "#components/shell/nav-items.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Button, ButtonLink } from "#components/ui/button.tsx";
import type { QueueStats } from "#lib/oci/control-shapes.ts";
import type { ViewFilter } from "#lib/oci/control-view.ts";
import { rightlyNotSent } from "#lib/oci/needs-person.ts";

/** Above this share of failures something is wrong that will not pass by itself. */
const alarmingShare = 0.2;

/** What an operator must know before anything else: nothing is sent, too much fails, rows are stuck. The most urgent one only. */
export function Warnings({ stats, onFilter }: { stats: QueueStats; onFilter: (filter: ViewFilter) => void }) {
  const t = useTranslations("oci.warnings");
  const format = useControlFormat();
  const causeOf = useCause();
  const { failedRatio, mainCause, stuckProcessing, totals } = stats;
  const stopped = useStopped(stats);
  if (stopped) return stopped;
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

/** Why nothing, or not everything, is sent at the moment: no account, no access, a refused conversion action, Google does not answer. */
function useStopped({ blocked, blockedActions, missingActions: [missing], connected, circuit, totals, valueWaitingCents }: QueueStats) {
  const t = useTranslations("oci.warnings");
  const format = useControlFormat();
  const causeOf = useCause();
  const { site } = useControl();
  const [action] = blockedActions;
  const waiting = { count: totals.QUEUED + totals.RETRY, money: format.sums(valueWaitingCents) };
  const toConnections = (label: string) =>
    site.role === "owner" && (
      <ButtonLink tone="primary" href={sitePath(site.publicId, "/connections")}>
        {label}
      </ButtonLink>
    );
  if (connected === false)
    return (
      <Alert tone="blocked" title={t("notConnected")} action={toConnections(t("connect"))}>
        {t("notConnectedBody", waiting)}
      </Alert>
    );
  if (blocked)
    return (
      <Alert tone="blocked" title={t("paused", { time: format.moment(blocked.since) })} action={toConnections(t("reconnect"))}>
        {t("pausedBody", waiting)}
      </Alert>
    );
  if (missing)
    return (
      <Alert tone="blocked" title={t("actionMissing", { name: missing })} action={toConnections(t("openConnections"))}>
        {t("actionMissingBody")}
      </Alert>
    );
  if (action)
    return (
      <Alert tone="blocked" title={t("actionBlocked", { name: action.conversionName })} action={toConnections(t("openConnections"))}>
        {t("actionBlockedBody", { count: blockedActions.length, what: causeOf(action.code).what })}
      </Alert>
    );
  if (circuit && circuit.state !== "CLOSED")
    return (
      <Alert tone="retry" title={t("circuit")}>
        {t(circuit.state === "OPEN" && circuit.nextProbeAt ? "circuitBody" : "probing", {
          ...waiting,
          time: circuit.nextProbeAt ? format.moment(circuit.nextProbeAt) : "",
        })}
      </Alert>
    );
  return null;
}
