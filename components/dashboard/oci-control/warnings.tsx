"use client";

import { useTranslations } from "next-intl";
import type { ReactNode } from "react";
import { connectPath, sitePath } from "#components/shell/nav-items.ts";
import { Alert } from "#components/ui/alert.tsx";
import { Button, ButtonLink } from "#components/ui/button.tsx";
import { countOf } from "#lib/oci/queue/view.ts";
import { useControl } from "./control-context.tsx";

/** Above this share of failures something is wrong that will not pass by itself. */
const alarmingShare = 0.2;

/** What an operator must know before anything else: nothing is sent, too much fails, rows are stuck. The most urgent one only. */
export function Warnings() {
  const t = useTranslations("oci.warnings");
  const word = useTranslations();
  const { stats, format, causeOf, filterBy } = useControl();
  const { failedRatio, mainCause, stuckProcessing } = stats;
  const stopped = useStopped();
  if (stopped) return stopped;
  if (failedRatio !== null && failedRatio > alarmingShare && mainCause) {
    const { what, fix } = causeOf(mainCause.code);
    return (
      <Alert
        tone="failed"
        title={t("failing", { share: format.percent(failedRatio), count: countOf(stats, "FAILED") })}
        action={
          <Button onClick={() => filterBy({ status: "FAILED", errorCode: mainCause.code })}>
            {word("actions.show", { count: mainCause.count })}
          </Button>
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
        action={<Button onClick={() => filterBy({ stuck: "true" })}>{t("showStuck")}</Button>}
      >
        {t("stuckBody")}
      </Alert>
    );
  }
  return null;
}

interface Stop {
  tone: "blocked" | "retry";
  title: string;
  body: string;
  action?: ReactNode;
}

/** Why nothing, or not everything, is sent at the moment, the most urgent reason first. */
function useStopped(): ReactNode {
  const t = useTranslations("oci.warnings");
  const word = useTranslations();
  const { site, stats, now, format, causeOf } = useControl();
  const { blocked, blockedActions, connected, circuit, quotaUntil, totals, valueWaitingCents } = stats;
  const [missing] = stats.missingActions;
  const [action] = blockedActions;
  const waiting = { count: totals.QUEUED + totals.RETRY, money: format.sums(valueWaitingCents) };
  const link = (label: string, href: string) =>
    site.role === "owner" && (
      <ButtonLink tone="primary" href={href}>
        {label}
      </ButtonLink>
    );
  const toForm = (label: string) => link(label, connectPath(site.siteId));
  const toActions = link(word("actions.connections"), `${sitePath(site.siteId, "/connections/google-ads")}#actions`);
  function find(): Stop | null {
    if (site.isArchived)
      return {
        tone: "blocked",
        title: t("archived"),
        body: t("archivedBody"),
        action: link(word("actions.settings"), sitePath(site.siteId, "/settings")),
      };
    if (connected === false)
      return { tone: "blocked", title: t("notConnected"), body: t("notConnectedBody", waiting), action: toForm(word("actions.connect")) };
    if (blocked)
      return {
        tone: "blocked",
        title: t("paused", { time: format.moment(blocked.since) }),
        body: t("pausedBody", { count: waiting.count + stats.refusedAccess }),
        action: toForm(word("actions.reconnect")),
      };
    if (missing)
      return {
        tone: "blocked",
        title: word("why.links.actionMissing.what", { name: missing }),
        body: t("actionMissingBody"),
        action: toActions,
      };
    if (action)
      return {
        tone: "blocked",
        title: t("actionBlocked", { name: action.conversionName }),
        body: t("actionBlockedBody", { count: blockedActions.length, what: causeOf(action.code).what }),
        action: toActions,
      };
    if (circuit && circuit.state !== "CLOSED") {
      const isLater = circuit.nextProbeAt !== null && Date.parse(circuit.nextProbeAt) > now.getTime();
      const time = isLater ? format.moment(circuit.nextProbeAt ?? "") : "";
      return {
        tone: "retry",
        title: t("circuit"),
        body: t(circuit.state === "OPEN" && time ? "circuitBody" : "probing", { ...waiting, time }),
      };
    }
    if (quotaUntil && Date.parse(quotaUntil) > now.getTime())
      return { tone: "retry", title: t("quota"), body: t("quotaBody", { ...waiting, time: format.moment(quotaUntil) }) };
    return null;
  }
  const stop = find();
  return (
    stop && (
      <Alert tone={stop.tone} title={stop.title} action={stop.action}>
        {stop.body}
      </Alert>
    )
  );
}
