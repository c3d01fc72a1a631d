"use client";

import { useTranslations } from "next-intl";
import { useControl, useControlFormat } from "#components/dashboard/oci-control/context/control-context.tsx";
import { useCause } from "#components/delivery/use-cause.ts";
import { connectPath, sitePath } from "#components/shell/nav-items.ts";
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
  const { site } = useControl();
  const causeOf = useCause(site.ociSyncMethod);
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

/** Why nothing, or not everything, is sent at the moment: the site is archived, no account, no access, a refused conversion action, Google does not answer. */
function useStopped(stats: QueueStats) {
  const { blocked, blockedActions, connected, circuit, quotaUntil, totals, valueWaitingCents } = stats;
  const [missing] = stats.missingActions;
  const t = useTranslations("oci.warnings");
  const format = useControlFormat();
  const { site, now } = useControl();
  const causeOf = useCause(site.ociSyncMethod);
  const [action] = blockedActions;
  const waiting = { count: totals.QUEUED + totals.RETRY, money: format.sums(valueWaitingCents) };
  const link = (label: string, href: string) =>
    site.role === "owner" && (
      <ButtonLink tone="primary" href={href}>
        {label}
      </ButtonLink>
    );
  if (site.isArchived)
    return (
      <Alert tone="blocked" title={t("archived")} action={link(t("openSettings"), sitePath(site.publicId, "/settings"))}>
        {t("archivedBody")}
      </Alert>
    );
  const toForm = (label: string) => link(label, connectPath(site.publicId));
  const toActions = link(t("openConnections"), `${sitePath(site.publicId, "/connections/google-ads")}#actions`);
  if (connected === false)
    return (
      <Alert tone="blocked" title={t("notConnected")} action={toForm(t("connect"))}>
        {t("notConnectedBody", waiting)}
      </Alert>
    );
  if (blocked)
    return (
      <Alert tone="blocked" title={t("paused", { time: format.moment(blocked.since) })} action={toForm(t("reconnect"))}>
        {t("pausedBody", { count: waiting.count + stats.refusedAccess })}
      </Alert>
    );
  if (missing)
    return (
      <Alert tone="blocked" title={t("actionMissing", { name: missing })} action={toActions}>
        {t("actionMissingBody")}
      </Alert>
    );
  if (action)
    return (
      <Alert tone="blocked" title={t("actionBlocked", { name: action.conversionName })} action={toActions}>
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
  if (quotaUntil && Date.parse(quotaUntil) > now.getTime())
    return (
      <Alert tone="retry" title={t("quota")}>
        {t("quotaBody", { ...waiting, time: format.moment(quotaUntil) })}
      </Alert>
    );
  return null;
}
